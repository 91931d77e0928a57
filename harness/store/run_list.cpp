#include "harness/store/run_list.h"

#include <algorithm>
#include <set>
#include <utility>

#include "harness/stats/statistics.h"
#include "harness/store/environment_reader.h"
#include "harness/store/stored_row.h"

namespace perfbench::harness {
namespace {

constexpr const char* kNewestSweeps =
    "SELECT sweep_key, sweep_id, matrix, kind, started_utc FROM sweeps ORDER BY started_utc DESC, sweep_key DESC";

SweepKind kind_of(const Connection& db, const Statement& sweep) {
  return stored_enum<SweepKind>(db, {"sweeps", "sweep_id " + sweep.text(1)}, "kind", sweep.text(3));
}

// One cell of a sweep while its attempts are read.
struct RunOfSweep {
  ListedRun run;
  std::int64_t run_key = 0;
  std::vector<std::int64_t> attempt_keys;
  std::vector<double> step_times_s;
};

// Some of the cells of a store; without any, all.
using CellKeys = std::optional<std::vector<std::int64_t>>;

std::map<std::string, std::string> axes_of(Statement& axes, std::int64_t cell_key) {
  std::map<std::string, std::string> out;
  axes.with(cell_key);
  while (axes.step()) out[axes.text(0)] = axes.text(1);
  return out;
}

constexpr const char* kAxes = "SELECT axis, value FROM cell_axes WHERE cell_key = ?";
// Of so many an index finds the attempts; more are nearly all, or are many rows, of which no more are wanted soon.
constexpr std::size_t kFewCells = 64;

CellKeys few_cells(const Connection& db, const CellFilter& wanted) {
  if (!wanted) return std::nullopt;
  Statement cells(db, "SELECT cell_key, run_id, matrix, label FROM cells JOIN runs USING (run_key)");
  Statement axes(db, kAxes);
  std::vector<std::int64_t> out;
  while (cells.step()) {
    const ListedCell cell{cells.text(1), cells.text(2), cells.text(3), axes_of(axes, cells.integer(0))};
    if (!wanted(cell)) continue;
    if (out.size() == kFewCells) return std::nullopt;
    out.push_back(cells.integer(0));
  }
  return out;
}

std::set<std::int64_t> sweeps_of(const Connection& db, const std::vector<std::int64_t>& cells) {
  Statement sweeps(db, "SELECT sweep_key FROM attempts WHERE cell_key = ?");
  std::set<std::int64_t> out;
  for (const auto cell : cells) {
    sweeps.with(cell);
    while (sweeps.step()) out.insert(sweeps.integer(0));
  }
  return out;
}

class RunLister {
 public:
  RunLister(const Connection& db, CellKeys cells)
      : db_(db),
        cell_keys_(std::move(cells)),
        attempts_(
            db,
            "SELECT a.attempt_key, a.cell_key, a.run_key, run_id, c.matrix, label, a.state, a.started_utc, "
            "a.environment_key, (SELECT value FROM metrics m WHERE m.attempt_key = a.attempt_key AND m.name_key = "
            "(SELECT name_key FROM names WHERE name = 'step_time_s')) FROM attempts a JOIN runs USING (run_key) "
            "JOIN cells c USING (cell_key) WHERE a.sweep_key = ?" +
                std::string(cell_keys_ ? " AND a.cell_key = ?" : "") + " ORDER BY a.started_utc, a.attempt_key"),
        axes_(db, kAxes),
        tags_(db, "SELECT name, attempt_key FROM tags WHERE run_key = ? ORDER BY name"),
        environments_(db) {}

  // Newest first.
  std::vector<ListedRun> runs_of(const Statement& sweep) {
    cells_.clear();
    if (cell_keys_) {
      for (const auto cell : *cell_keys_) read(attempts_.with(sweep.integer(0), cell));
    } else {
      read(attempts_.with(sweep.integer(0)));
    }
    std::vector<ListedRun> out;
    for (auto& [cell_key, one] : cells_) {
      complete(cell_key, one);
      one.run.sweep_id = sweep.text(1);
      one.run.kind = kind_of(db_, sweep);
      out.push_back(std::move(one.run));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const ListedRun& a, const ListedRun& b) { return a.started_utc > b.started_utc; });
    return out;
  }

 private:
  void read(Statement& attempts) {
    while (attempts.step()) {
      try {
        take(attempts);
      } catch (const UnreadableRow& e) {
        db_.leave_out(e.what());
      }
    }
  }

  void take(const Statement& row) {
    const auto state = stored_enum<AttemptState>(db_, {"attempts", "attempt_key " + row.text(0)}, "state", row.text(6));
    auto& one = cells_[row.integer(1)];
    auto& run = one.run;
    one.run_key = row.integer(2);
    one.attempt_keys.push_back(row.integer(0));
    run.run_id = row.text(3);
    run.matrix = row.text(4);
    run.cell = row.text(5);
    run.started_utc = row.text(7);
    run.state = run.finished > 0 ? AttemptState::ok : state;
    ++run.attempts;
    if (!row.is_null(8)) {
      const auto& environment = environments_.of(row.integer(8));
      const auto commit = environment->facts.find("git_commit");
      run.git_commit = commit == environment->facts.end() ? "" : commit->second;
      run.machine = environment->machine_fingerprint;
    }
    if (state != AttemptState::ok) return;
    ++run.finished;
    if (!row.is_null(9)) one.step_times_s.push_back(row.real(9));
  }

  void complete(std::int64_t cell_key, RunOfSweep& one) {
    one.run.axes = axes_of(axes_, cell_key);
    tags_.with(one.run_key);
    while (tags_.step()) {
      const bool of_these = tags_.is_null(1) || std::find(one.attempt_keys.begin(), one.attempt_keys.end(),
                                                          tags_.integer(1)) != one.attempt_keys.end();
      if (of_these) one.run.tags.push_back(tags_.text(0));
    }
    if (!one.step_times_s.empty()) one.run.step_time_s = median(std::move(one.step_times_s));
  }

  const Connection& db_;
  CellKeys cell_keys_;
  Statement attempts_;
  Statement axes_;
  Statement tags_;
  EnvironmentReader environments_;
  std::map<std::int64_t, RunOfSweep> cells_;  // by cell_key
};

}  // namespace

void for_each_run(const Connection& db, const std::function<Visit(const ListedRun&)>& visit, const CellFilter& wanted) {
  const auto cells = few_cells(db, wanted);
  const auto with_these = cells ? sweeps_of(db, *cells) : std::set<std::int64_t>();
  Statement sweeps(db, kNewestSweeps);
  RunLister lister(db, cells);
  while (sweeps.step()) {
    if (cells && !with_these.contains(sweeps.integer(0))) continue;
    try {
      for (const auto& run : lister.runs_of(sweeps)) {
        if (visit(run) == Visit::stop) return;
      }
    } catch (const UnreadableRow& e) {
      db.leave_out(e.what());
    }
  }
}

void for_each_sweep(const Connection& db, const std::function<Visit(const ListedSweep&)>& visit) {
  Statement sweeps(db, kNewestSweeps);
  Statement selection(db, "SELECT selection FROM sweep_selections WHERE sweep_key = ?");
  Statement counts(db,
                   "SELECT count(DISTINCT cell_key), count(*), total(state = 'ok') FROM attempts WHERE sweep_key = ?");
  while (sweeps.step()) {
    try {
      ListedSweep out{.sweep_id = sweeps.text(1),
                      .matrix = sweeps.text(2),
                      .kind = kind_of(db, sweeps),
                      .started_utc = sweeps.text(4),
                      .selection = {}};
      if (selection.with(sweeps.integer(0)).step()) out.selection = selection.text(0);
      counts.with(sweeps.integer(0)).step();
      out.cells = counts.integer(0);
      out.attempts = counts.integer(1);
      out.finished = counts.integer(2);
      if (visit(out) == Visit::stop) return;
    } catch (const UnreadableRow& e) {
      db.leave_out(e.what());
    }
  }
}

std::vector<std::string> list_axes(const Connection& db) {
  Statement rows(db, "SELECT DISTINCT axis FROM cell_axes ORDER BY axis");
  std::vector<std::string> out;
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

}  // namespace perfbench::harness
