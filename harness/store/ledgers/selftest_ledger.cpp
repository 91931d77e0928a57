#include "harness/store/ledgers/selftest_ledger.h"

#include "harness/store/columns.h"
#include "harness/store/stored_row.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

std::vector<StoredSelftestResult> stored_selftest_results(const Connection& db) {
  Statement rows(db, select_sql<StoredSelftestResult>("selftest_results", "ORDER BY result_key", ", result_key"));
  std::vector<StoredSelftestResult> out;
  while (rows.step()) {
    try {
      StoredSelftestResult one;
      read_columns(rows, 0, one);
      out.push_back(one);
    } catch (const spec::SpecError& e) {
      leave_out_row(db, {"selftest_results", "result_key " + rows.text(rows.columns() - 1)}, e.what());
    }
  }
  return out;
}

void add_selftest_results(Connection& db, const std::vector<StoredSelftestResult>& rows) {
  insert_rows(db, "selftest_results", {}, rows);
}

void store_selftest(Connection& db, const SelftestRun& run, const std::vector<SelftestResult>& results) {
  std::vector<StoredSelftestResult> rows;
  for (const auto& r : results) {
    rows.push_back({.date_utc = run.date_utc,
                    .version = run.version,
                    .seed = std::to_string(run.seed),
                    .kind = r.kind,
                    .noise = r.noise,
                    .measure = r.measure,
                    .value = r.value,
                    .low = r.low,
                    .high = r.high});
    if (!r.goal) continue;
    rows.back().goal_rule = r.goal->rule;
    rows.back().goal = r.goal->limit;
    rows.back().met = *goal_met(r) ? 1 : 0;
  }
  Transaction transaction(db);
  add_selftest_results(db, rows);
  transaction.commit();
}

}  // namespace perfbench::harness
