#include "harness/transfer/verify_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <set>
#include <type_traits>
#include <vector>

#include "harness/alerts/alert_ledger.h"
#include "harness/evidence/utc.h"
#include "harness/identity/sha256.h"
#include "harness/input_error.h"
#include "harness/store/baseline_ledger.h"
#include "harness/store/columns.h"
#include "harness/store/query.h"
#include "harness/store/stored_row.h"
#include "harness/trace/trace_summary.h"
#include "harness/transfer/table_shape.h"
#include "workloads/spec/gpu_sample.h"
#include "workloads/spec/record.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kAttemptsAtOnce = 4096;  // bounds the memory, whatever the size of the export

// A column and the SQL condition under which its value cannot be.
struct Wrong {
  std::string column;
  std::string condition;
};

std::string bound(double value) {
  return fmt::format("{:.17g}", value);
}

// NULL is left to the schema: it says which columns may have none.
template <class Member>
std::string wrong_values(const spec::Field& field, const std::string& column) {
  std::string out;
  const auto add = [&out](const std::string& condition) { out += (out.empty() ? "" : " OR ") + condition; };
  if constexpr (std::same_as<Member, bool>) {
    add(column + " NOT IN (0, 1)");
  } else if constexpr (std::is_enum_v<Member>) {
    std::string names;
    for (const auto& [value, name] : spec::EnumNames<Member>::kNames) {
      names += (names.empty() ? "'" : ", '") + std::string(name) + "'";
    }
    add(column + " NOT IN (" + names + ")");
  } else if constexpr (std::is_arithmetic_v<Member>) {
    if (std::isfinite(field.minimum)) add(column + " < " + bound(field.minimum));
    if (std::isfinite(field.maximum)) add(column + " > " + bound(field.maximum));
  }
  return out;
}

template <class T>
void collect_wrong(T& value, const std::string& prefix, std::vector<Wrong>& out) {
  auto step = [&](const spec::Field& field, auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    const std::string column = prefix + std::string(field.name);
    if constexpr (spec::HasFields<Member>) {
      collect_wrong(member, column + "_", out);
    } else if constexpr (!kIsCollection<Member>) {
      const auto condition = wrong_values<Member>(field, column);
      if (!condition.empty()) out.push_back({column, condition});
    }
  };
  T::fields(value, step);
}

// Columns of a record that may be infinite, as their fields have no bounds: the loss of a run that diverged.
template <class T>
std::set<std::string> unbounded_columns() {
  std::set<std::string> out;
  T value{};
  auto note = [&out](const spec::Field& field, auto& member) {
    constexpr bool kIsReal = std::is_floating_point_v<std::remove_cvref_t<decltype(member)>>;
    if (kIsReal && std::isinf(field.minimum) && std::isinf(field.maximum)) out.insert(std::string(field.name));
  };
  T::fields(value, note);
  return out;
}

class Verification {
 public:
  Verification(const Connection& db, const Connection& ours, const std::string& file)
      : db_(db), ours_(ours), file_(file), shapes_(table_shapes(ours)) {}

  void run() {
    for (const auto& shape : shapes_) check_by_names(shape);
    check_fields<spec::StepRecord>("steps");
    check_fields<TraceSummary>("traced_steps");
    check_fields<spec::GpuSample>("gpu_samples");
    check_fields<spec::RunSummary>("attempt_summaries");
    check_fields<spec::AxisTraffic>("attempt_traffic");
    check_fields<spec::AttentionKernel>("attempt_attention");
    check_fields<AttemptRecord>("attempts");
    check_conditions("sweeps", {{"kind", wrong_values<SweepKind>({}, "kind")}});
    check_runs();
    read_everything();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError("[import] " + file_ + ": " + what +
                     ". Nothing was taken in: the file was changed after its export, or is of a database that was; "
                     "export it again, or leave that sweep out with `perfbench export --select`");
  }

  // What the conventions of schema.sql promise of every table: times are times, and numbers are finite, but for what a
  // step computed.
  void check_by_names(const TableShape& shape) const {
    Statement columns(ours_, "SELECT name, type FROM pragma_table_info(?, 'main')");
    columns.with(shape.name);
    std::vector<Wrong> wrong;
    while (columns.step()) {
      const auto column = columns.text(0);
      const bool may_be_infinite = shape.name == "steps" && unbounded_.contains(column);
      if (columns.text(1) == "REAL" && !may_be_infinite) wrong.push_back({column, column + " IN (9e999, -9e999)"});
      if (column.ends_with("_utc")) check_times(shape, column);
    }
    check_conditions(shape.name, wrong);
  }

  void check_times(const TableShape& shape, const std::string& column) const {
    Statement rows(db_, "SELECT DISTINCT " + column + " FROM " + shape.name + " WHERE " + column + " IS NOT NULL");
    // '' is "never" or "unknown", but every sweep and attempt began at some time.
    const bool needed = shape.name == "sweeps" || shape.name == "attempts";
    while (rows.step()) {
      const auto text = rows.text(0);
      if (text.empty() && !needed) continue;
      try {
        if (parse_utc(text) == text) continue;
      } catch (const InputError&) {
      }
      refuse(fmt::format("a row of {} has {} '{}', which is no time such as 2026-01-31T12:00:00Z", shape.name, column,
                         text));
    }
  }

  const TableShape& shape_of(const std::string& table) const {
    return *std::ranges::find(shapes_, table, &TableShape::name);
  }

  template <class T>
  void check_fields(const std::string& table) const {
    std::vector<Wrong> wrong;
    T value{};
    collect_wrong(value, "", wrong);
    std::erase_if(wrong, [&](const Wrong& w) { return !shape_of(table).has(w.column); });
    check_conditions(table, wrong);
  }

  // One pass over the table, whatever is to be checked.
  void check_conditions(const std::string& table, const std::vector<Wrong>& wrong) const {
    if (wrong.empty()) return;
    std::string any;
    for (const auto& w : wrong) any += (any.empty() ? "(" : " OR (") + w.condition + ")";
    Statement row(db_, "SELECT * FROM " + table + " WHERE " + any + " LIMIT 1");
    if (!row.step()) return;
    for (const auto& w : wrong) {
      Statement same(db_, "SELECT " + w.column + " FROM (SELECT * FROM " + table + " WHERE " + any +
                              " LIMIT 1) WHERE " + w.condition);
      if (same.step()) {
        refuse(fmt::format("the row of {} with {} has {} '{}', which cannot be", table, row_text(table, row), w.column,
                           same.text(0)));
      }
    }
  }

  // "attempt_key 3, rank 0, step 2"
  std::string row_text(const std::string& table, const Statement& row) const {
    std::string out;
    for (const auto& key : shape_of(table).primary) {
      for (int i = 0; i < row.columns(); ++i) {
        if (row.column_name(i) == key) out += (out.empty() ? "" : ", ") + key + " " + row.text(i);
      }
    }
    return out;
  }

  // A run is what its id says.
  void check_runs() const {
    Statement rows(db_, "SELECT run_id, run_json FROM runs");
    while (rows.step()) {
      const auto run = stored_run(db_, {"runs", "run_id " + rows.text(0)}, rows.text(1));
      if (sha256_hex(spec::canonical_json(run)) == rows.text(0) && sha256_hex(rows.text(1)) == rows.text(0)) continue;
      refuse("the row of runs with run_id " + rows.text(0) + " has a run_json whose SHA-256 is another");
    }
  }

  void read_everything() const {
    Statement attempts(db_, "SELECT attempt_key FROM attempts");
    std::vector<std::int64_t> keys;
    for (bool more = true; more;) {
      more = attempts.step();
      if (more) keys.push_back(attempts.integer(0));
      if (more && keys.size() < kAttemptsAtOnce) continue;
      load_attempts(db_, keys);
      keys.clear();
    }
    list_baselines(db_);
    load_alerts(db_, AlertScope::all);
    if (!db_.left_out().empty()) refuse(*db_.left_out().begin());
  }

  const Connection& db_;
  const Connection& ours_;
  const std::string& file_;
  std::vector<TableShape> shapes_;
  const std::set<std::string> unbounded_ = unbounded_columns<spec::StepRecord>();
};

}  // namespace

void verify_rows(const Connection& unpacked, const Connection& ours, const std::string& file) {
  try {
    Verification(unpacked, ours, file).run();
  } catch (const UnreadableRow& e) {
    throw InputError("[import] " + file + ": " + e.what() + ". Nothing was taken in");
  }
}

}  // namespace perfbench::harness
