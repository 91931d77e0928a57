// Rows that exist but cannot be understood: damaged, changed by hand, or written by a newer perfbench. A reader of many
// rows leaves them out (Connection::leave_out) and continues; a reader of a single row throws.
#pragma once

#include <string>
#include <string_view>

#include "harness/store/sqlite.h"
#include "harness/system/input_error.h"
#include "workloads/spec/enum_names.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

// The message names the database, the table, the row, the mistake, and the remedy.
class UnreadableRow : public InputError {
 public:
  using InputError::InputError;
};

// A row as messages name it: "attempts", "attempt_key 7".
struct RowName {
  std::string_view table;
  std::string row;
};

[[noreturn]] void refuse_row(const Connection& db, const RowName& row, const std::string& trouble);

// For a reader of many rows: leaves the row out.
void leave_out_row(const Connection& db, const RowName& row, const std::string& trouble);

// The enumeration value with this name. Throws UnreadableRow.
template <class E>
E stored_enum(const Connection& db, const RowName& row, std::string_view column, const std::string& text) {
  if (const auto value = spec::enum_value<E>(text)) return *value;
  refuse_row(db, row, std::string(column) + " is '" + text + "', which this perfbench does not know");
}

// Throws UnreadableRow for infinity, which no measurement can be.
double stored_number(const Connection& db, const RowName& row, std::string_view column, double value);

// runs.run_json. Throws UnreadableRow.
spec::RunSpec stored_run(const Connection& db, const RowName& row, const std::string& run_json);

}  // namespace perfbench::harness
