#include "harness/store/queries/names.h"

#include "harness/store/columns.h"
#include "harness/store/queries/sweeps.h"

namespace perfbench::harness {

// Uses the index of runs: one row for each, whatever the number of attempts.
std::vector<NamedCandidate> all_runs(const Connection& db) {
  Statement rows(db,
                 "SELECT run_id, label, started_utc FROM runs r JOIN attempts a ON a.attempt_key = (SELECT attempt_key "
                 "FROM attempts n WHERE n.run_key = r.run_key ORDER BY started_utc DESC LIMIT 1) "
                 "JOIN cells c ON c.cell_key = a.cell_key");
  std::vector<NamedCandidate> out;
  while (rows.step()) out.push_back({rows.text(0), rows.text(1), rows.text(2)});
  return out;
}

std::vector<NamedCandidate> runs_that_begin_with(const Connection& db, const std::string& start) {
  // Uses a range and not LIKE, so that the index is used. 'g' follows every hex digit.
  Statement rows(db, "SELECT run_key, run_id FROM runs WHERE run_id >= ?1 AND run_id < ?1 || 'g' LIMIT 100");
  Statement newest(db,
                   "SELECT label, started_utc FROM attempts a JOIN cells c USING (cell_key) WHERE a.run_key = ? "
                   "ORDER BY started_utc DESC LIMIT 1");
  std::vector<NamedCandidate> out;
  rows.with(start);
  while (rows.step()) {
    if (newest.with(rows.integer(0)).step()) out.push_back({rows.text(1), newest.text(0), newest.text(1)});
  }
  return out;
}

bool has_sweep(const Connection& db, const std::string& sweep_id) {
  return find_key(db, "SELECT sweep_key FROM sweeps WHERE sweep_id = ? AND sweep_id <> ''", sweep_id).has_value();
}

std::vector<std::string> newest_sweep_ids(const Connection& db, std::size_t most) {
  Statement rows(db, "SELECT sweep_id FROM sweeps WHERE sweep_id <> '' ORDER BY started_utc DESC LIMIT ?");
  rows.with(static_cast<std::int64_t>(most));
  std::vector<std::string> out;
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

std::optional<std::string> newest_night_utc(const Connection& db, const std::string& now_utc) {
  Statement newest(db, "SELECT max(started_utc) FROM sweeps WHERE started_utc <= ? AND " +
                           kind_condition("kind", SweepsOf::history));
  if (!newest.with(now_utc).step() || newest.is_null(0)) return std::nullopt;
  return newest.text(0);
}

std::string kind_of_sweep(const Connection& db, const std::string& sweep_id) {
  Statement kind(db, "SELECT kind FROM sweeps WHERE sweep_id = ?");
  return kind.with(sweep_id).step() ? kind.text(0) : "";
}

std::optional<std::int64_t> number_of_attempt(const Connection& db, std::int64_t attempt_key) {
  return find_key(db, "SELECT attempt FROM attempts WHERE attempt_key = ?", attempt_key);
}

bool has_any_attempt(const Connection& db) {
  return find_key(db, "SELECT 1 FROM attempts LIMIT 1").has_value();
}

}  // namespace perfbench::harness
