// Rows that are there and cannot be understood: damaged, changed by hand, or written by a newer perfbench. A reader of
// many rows leaves such a one out (Connection::leave_out) and goes on; a reader of that one row throws.
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

// The message names database, table, row, what is wrong with it, and what to do.
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

// What a reader of many rows does instead.
void leave_out_row(const Connection& db, const RowName& row, const std::string& trouble);

// The value that the text names. Throws UnreadableRow.
template <class E>
E stored_enum(const Connection& db, const RowName& row, std::string_view column, const std::string& text) {
  if (const auto value = spec::enum_value<E>(text)) return *value;
  refuse_row(db, row, std::string(column) + " is '" + text + "', which this perfbench does not know");
}

// Throws UnreadableRow for infinity: nothing that is measured is.
double stored_number(const Connection& db, const RowName& row, std::string_view column, double value);

// runs.run_json. Throws UnreadableRow.
spec::RunSpec stored_run(const Connection& db, const RowName& row, const std::string& run_json);

}  // namespace perfbench::harness
