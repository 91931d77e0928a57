#include "harness/store/queries/run_list.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "harness/stats/statistics.h"
#include "harness/store/attempts/environments.h"
#include "harness/store/attempts/subject_reader.h"
#include "harness/store/stored_row.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kMostKnown = 4096;  // a few MB

}  // namespace

CellReader::CellReader(const Connection& db)
    : cell_(db, "SELECT run_key, run_id, matrix, label FROM cells JOIN runs USING (run_key) WHERE cell_key = ?"),
      axes_(db, "SELECT axis, value FROM cell_axes WHERE cell_key = ?") {}

const StoredCell& CellReader::of(std::int64_t cell_key) {
  const auto known = known_.find(cell_key);
  if (known != known_.end()) return known->second;
  if (known_.size() == kMostKnown) known_.clear();
  auto& cell = known_[cell_key];
  if (cell_.with(cell_key).step()) {
    cell = {.run_key = cell_.integer(0),
            .run_id = cell_.text(1),
            .matrix = cell_.text(2),
            .label = cell_.text(3),
            .axes = {}};
  }
  axes_.with(cell_key);
  while (axes_.step()) cell.axes[axes_.text(0)] = axes_.text(1);
  return cell;
}

namespace {

using Keys = std::set<std::int64_t>;

// The attempts of up to this many cells are found through an index. More cells are nearly all of them, or have enough
// rows to fill a list soon.
constexpr std::size_t kFewCells = 64;

Keys keys_of(Statement& rows) {
  Keys out;
  while (rows.step()) out.insert(rows.integer(0));
  return out;
}

std::optional<std::vector<std::int64_t>> few_cells(const Connection& db, const RunFilter& wanted) {
  if (!wanted.cell && !wanted.untagged) return std::nullopt;
  std::optional<Keys> tagged;
  if (wanted.untagged && !wanted.untagged({})) {
    Statement rows(db, "SELECT cell_key FROM cells WHERE run_key IN (SELECT run_key FROM tags)");
    tagged = keys_of(rows);
  }
  if (!wanted.cell && !tagged) return std::nullopt;
  CellReader reader(db);
  Statement cells(db, "SELECT cell_key FROM cells");
  std::vector<std::int64_t> out;
  while (cells.step()) {
    const auto key = cells.integer(0);
    if (tagged && !tagged->contains(key)) continue;
    if (wanted.cell) {
      const auto& cell = reader.of(key);
      if (!wanted.cell({.run_id = cell.run_id, .matrix = cell.matrix, .cell = cell.label, .axes = cell.axes})) continue;
    }
    if (out.size() == kFewCells) return std::nullopt;
    out.push_back(key);
  }
  return out;
}

// nullopt if all environments are wanted.
std::optional<Keys> sweeps_of_environments(const Connection& db, const RunFilter::MayBe& wanted) {
  EnvironmentReader reader(db);
  std::vector<std::optional<std::int64_t>> keys;
  bool all = wanted({});
  if (all) keys.emplace_back();  // for attempts without one
  Statement environments(db, "SELECT environment_key FROM environments");
  while (environments.step()) {
    const auto key = environments.integer(0);
    const auto& environment = *reader.of(key);
    const bool is_wanted = wanted({.git_commit = environment.git_commit(), .machine = environment.machine_fingerprint});
    all = all && is_wanted;
    if (is_wanted) keys.emplace_back(key);
  }
  if (all) return std::nullopt;
  Statement sweeps(db, "SELECT DISTINCT sweep_key FROM attempts WHERE environment_key IS ?");
  Keys out;
  for (const auto& key : keys) out.merge(keys_of(sweeps.with(key)));
  return out;
}

Keys sweeps_of_cells(const Connection& db, const std::vector<std::int64_t>& cells) {
  Statement sweeps(db, "SELECT sweep_key FROM attempts WHERE cell_key = ?");
  Keys out;
  for (const auto cell : cells) out.merge(keys_of(sweeps.with(cell)));
  return out;
}

void narrow(std::optional<Keys>& all, Keys to) {
  if (all) std::erase_if(to, [&](std::int64_t key) { return !all->contains(key); });
  all = std::move(to);
}

}  // namespace

RunNarrowing places_of(const Connection& db, const RunFilter& wanted) {
  RunNarrowing out{.cells = few_cells(db, wanted), .sweeps = {}};
  if (out.cells) out.sweeps = sweeps_of_cells(db, *out.cells);
  if (wanted.environment) {
    if (auto sweeps = sweeps_of_environments(db, wanted.environment)) narrow(out.sweeps, std::move(*sweeps));
  }
  if (wanted.all_ok && !wanted.all_ok({.attempts = 1, .finished = 1})) {
    Statement sweeps(db, "SELECT DISTINCT sweep_key FROM attempts WHERE state <> 'ok'");
    narrow(out.sweeps, keys_of(sweeps));
  }
  return out;
}

namespace {

constexpr const char* kNewestSweeps =
    "SELECT sweep_key, sweep_id, matrix, kind, started_utc FROM sweeps ORDER BY started_utc DESC, sweep_key DESC";

SweepKind kind_of(const Connection& db, const Statement& sweep) {
  return stored_enum<SweepKind>(db, {"sweeps", "sweep_id " + sweep.text(1)}, "kind", sweep.text(3));
}

// One cell of a sweep by one subject, while its attempts are read.
struct RunOfSweep {
  ListedRun run;
  std::vector<std::int64_t> attempt_keys;
  std::vector<double> step_times_s;
};

struct CellOfSweep {
  SubjectGroups groups;
  std::vector<RunOfSweep> runs;  // one for each group
};

class RunLister {
 public:
  // Reads only these `cells`; nullopt: all cells.
  RunLister(const Connection& db, std::optional<std::vector<std::int64_t>> cells)
      : db_(db),
        cell_keys_(std::move(cells)),
        attempts_(
            db,
            "SELECT a.attempt_key, a.cell_key, a.state, a.started_utc, a.environment_key, (SELECT value FROM metrics m "
            "WHERE m.attempt_key = a.attempt_key AND m.name_key = (SELECT name_key FROM names WHERE name = "
            "'step_time_s')) FROM attempts a WHERE a.sweep_key = ?" +
                std::string(cell_keys_ ? " AND a.cell_key = ?" : "") + " ORDER BY a.started_utc, a.attempt_key"),
        cells_(db),
        tags_(db, "SELECT name, attempt_key FROM tags WHERE run_key = ? ORDER BY name"),
        has_tags_(Statement(db, "SELECT 1 FROM tags LIMIT 1").step()),
        environments_(db),
        subjects_(db) {}

  // Newest first.
  std::vector<ListedRun> runs_of(const Statement& sweep) {
    cells_of_sweep_.clear();
    reading_ = {.sweep_id = sweep.text(1), .kind = kind_of(db_, sweep)};
    if (cell_keys_) {
      for (const auto cell : *cell_keys_) read(attempts_.with(sweep.integer(0), cell));
    } else {
      read(attempts_.with(sweep.integer(0)));
    }
    std::vector<ListedRun> out;
    for (auto& [cell_key, cell] : cells_of_sweep_) {
      for (std::size_t i = 0; i < cell.runs.size(); ++i) {
        auto& one = cell.runs[i];
        complete(cells_.of(cell_key), one);
        one.run.subject = cell.groups.subjects()[i];
        one.run.sweep_id = reading_.sweep_id;
        one.run.kind = reading_.kind;
        out.push_back(std::move(one.run));
      }
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
    const auto state = stored_enum<AttemptState>(db_, {"attempts", "attempt_key " + row.text(0)}, "state", row.text(2));
    reading_.attempt_key = row.integer(0);
    reading_.environment = row.is_null(4) ? nullptr : environments_.of(row.integer(4));
    auto& cell = cells_of_sweep_[row.integer(1)];
    const auto place = cell.groups.place_of(subjects_.of(reading_));
    cell.runs.resize(cell.groups.subjects().size());
    auto& one = cell.runs[place];
    auto& run = one.run;
    one.attempt_keys.push_back(row.integer(0));
    run.started_utc = row.text(3);
    run.state = run.finished > 0 ? AttemptState::ok : state;
    ++run.attempts;
    if (reading_.environment) {
      run.git_commit = reading_.environment->git_commit();
      run.machine = reading_.environment->machine_fingerprint;
    }
    if (state != AttemptState::ok) return;
    ++run.finished;
    if (!row.is_null(5)) one.step_times_s.push_back(row.real(5));
  }

  void complete(const StoredCell& cell, RunOfSweep& one) {
    one.run.run_id = cell.run_id;
    one.run.matrix = cell.matrix;
    one.run.cell = cell.label;
    one.run.axes = cell.axes;
    if (has_tags_) one.run.tags = tags_of(cell.run_key, one.attempt_keys);
    if (!one.step_times_s.empty()) one.run.step_time_s = median(std::move(one.step_times_s));
  }

  std::vector<std::string> tags_of(std::int64_t run_key, const std::vector<std::int64_t>& attempt_keys) {
    std::vector<std::string> out;
    tags_.with(run_key);
    while (tags_.step()) {
      const bool of_these = tags_.is_null(1) ||
                            std::find(attempt_keys.begin(), attempt_keys.end(), tags_.integer(1)) != attempt_keys.end();
      if (of_these) out.push_back(tags_.text(0));
    }
    return out;
  }

  const Connection& db_;
  std::optional<std::vector<std::int64_t>> cell_keys_;
  Statement attempts_;
  CellReader cells_;
  Statement tags_;
  bool has_tags_;
  EnvironmentReader environments_;
  SubjectReader subjects_;
  SubjectOf reading_;  // the attempt that is being read, in the sweep that is being read
  std::map<std::int64_t, CellOfSweep> cells_of_sweep_;  // by cell_key
};

}  // namespace

void for_each_run(const Connection& db, const std::function<Visit(const ListedRun&)>& visit, const RunFilter& wanted) {
  auto [cells, places] = places_of(db, wanted);
  Statement sweeps(db, kNewestSweeps);
  RunLister lister(db, std::move(cells));
  while (sweeps.step()) {
    if (places && !places->contains(sweeps.integer(0))) continue;
    try {
      const ListedRun of_it{.started_utc = sweeps.text(4), .sweep_id = sweeps.text(1), .kind = kind_of(db, sweeps)};
      if (wanted.sweep && !wanted.sweep(of_it)) continue;
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
