#include "harness/store/ledgers/baseline_ledger.h"

#include <map>
#include <utility>

#include "harness/store/columns.h"
#include "harness/store/stored_row.h"
#include "harness/system/input_error.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

// The rows that read_entry expects.
std::string entries_sql(const std::string& rest) {
  return select_sql<Baseline>("baselines", rest, ", baseline_key");
}

Baseline read_entry(const Connection& db, const Statement& row) {
  Baseline out;
  out.key = row.integer(row.columns() - 1);
  const RowName name{.table = "baselines",
                     .row = "baseline_key " + std::to_string(out.key) + " ('" + row.text(0) + "')"};
  try {
    read_columns(row, 0, out);
  } catch (const spec::SpecError& e) {
    refuse_row(db, name, e.what());
  }
  Statement attempts(db, "SELECT attempt_key FROM baseline_attempts WHERE baseline_key = ? ORDER BY 1");
  attempts.with(out.key);
  while (attempts.step()) out.attempt_keys.push_back(attempts.integer(0));
  Statement values(db,
                   "SELECT subject, name, value FROM baseline_values JOIN names USING (name_key) "
                   "WHERE baseline_key = ? ORDER BY subject, name, sample");
  values.with(out.key);
  while (values.step()) {
    out.values.push_back(
        {values.text(0), values.text(1), stored_number(db, name, "a value of " + values.text(1), values.real(2))});
  }
  return out;
}

void check(const Baseline& baseline) {
  const std::pair<const char*, const std::string*> needed[] = {
      {"a name", &baseline.name}, {"an author", &baseline.author}, {"a reason", &baseline.reason}};
  for (const auto& [what, text] : needed) {
    if (text->empty()) throw InputError(std::string("[baseline] a baseline needs ") + what);
  }
  if (baseline.attempt_keys.empty() && baseline.values.empty()) {
    throw InputError("[baseline] '" + baseline.name + "' would be empty: " + baseline.source +
                     " gives no finished attempt and no value");
  }
}

}  // namespace

void add_baseline(Connection& db, const Baseline& baseline) {
  check(baseline);
  Transaction transaction(db);
  insert_rows(db, "baselines", {}, std::vector{baseline});
  const auto key = db.last_insert_key();
  Statement attempt(db, "INSERT INTO baseline_attempts (baseline_key, attempt_key) VALUES (?, ?)");
  for (const auto attempt_key : baseline.attempt_keys) attempt.run(key, attempt_key);
  Statement value(
      db, "INSERT INTO baseline_values (baseline_key, subject, name_key, sample, value) VALUES (?, ?, ?, ?, ?)");
  std::map<std::pair<std::string, std::string>, std::int64_t> samples;
  for (const auto& v : baseline.values) {
    value.run(key, v.subject, name_key(db, v.metric), samples[{v.subject, v.metric}]++, v.value);
  }
  transaction.commit();
}

std::optional<Baseline> find_baseline(const Connection& db, const std::string& name, const std::string& now_utc) {
  Statement row(db, entries_sql("WHERE name = ? AND (expires_utc IS NULL OR expires_utc > ?) "
                                "ORDER BY created_utc DESC, baseline_key DESC LIMIT 1"));
  row.with(name, now_utc);
  if (!row.step()) return std::nullopt;
  return read_entry(db, row);
}

std::optional<BaselineOfRun> baseline_of_run(const Connection& db, const std::string& run_id,
                                             const std::string& now_utc) {
  Statement rows(db,
                 "SELECT b.baseline_key, b.name, attempt_key FROM runs JOIN attempts USING (run_key) "
                 "JOIN baseline_attempts USING (attempt_key) JOIN baselines b USING (baseline_key) WHERE run_id = ?1 "
                 "AND b.baseline_key = (SELECT baseline_key FROM baselines n WHERE n.name = b.name AND "
                 "(n.expires_utc IS NULL OR n.expires_utc > ?2) ORDER BY created_utc DESC, baseline_key DESC LIMIT 1) "
                 "ORDER BY b.created_utc DESC, b.baseline_key DESC");
  rows.with(run_id, now_utc);
  std::optional<BaselineOfRun> out;
  std::int64_t key = 0;
  while (rows.step()) {
    if (out && rows.integer(0) != key) break;
    if (!out) out = BaselineOfRun{rows.text(1), {}};
    key = rows.integer(0);
    out->attempt_keys.push_back(rows.integer(2));
  }
  return out;
}

std::vector<Baseline> list_baselines(const Connection& db) {
  Statement rows(db, entries_sql("ORDER BY created_utc, baseline_key"));
  std::vector<Baseline> out;
  while (rows.step()) {
    try {
      out.push_back(read_entry(db, rows));
    } catch (const UnreadableRow& e) {
      db.leave_out(e.what());
    }
  }
  return out;
}

}  // namespace perfbench::harness
