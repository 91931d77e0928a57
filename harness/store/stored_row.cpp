#include "harness/store/stored_row.h"

#include <cmath>

#include "workloads/spec/run_json.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

void refuse_row(const Connection& db, const RowName& row, const std::string& trouble) {
  throw UnreadableRow("[store] " + db.path().string() + ": the row of " + std::string(row.table) + " with " + row.row +
                      " cannot be read: " + trouble +
                      "; it is damaged or from a newer perfbench: use that one, restore the database from a copy, or "
                      "build it again from its run directories with `perfbench ingest`");
}

void leave_out_row(const Connection& db, const RowName& row, const std::string& trouble) {
  try {
    refuse_row(db, row, trouble);
  } catch (const UnreadableRow& e) {
    db.leave_out(e.what());
  }
}

double stored_number(const Connection& db, const RowName& row, std::string_view column, double value) {
  if (std::isfinite(value)) return value;
  refuse_row(db, row, std::string(column) + " is not a finite number");
}

spec::RunSpec stored_run(const Connection& db, const RowName& row, const std::string& run_json) {
  try {
    // Reading it takes half of the time of a query. The text is our own and was checked when it was stored.
    return spec::run_from_json(spec::parse_own_json(run_json));
  } catch (const spec::SpecError& e) {
    refuse_row(db, row, "run_json" + (e.pointer().empty() ? "" : " at " + e.pointer()) + ": " + e.what());
  }
}

}  // namespace perfbench::harness
