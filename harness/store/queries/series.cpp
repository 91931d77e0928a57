#include "harness/store/queries/series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "harness/evidence/attempt.h"
#include "harness/stats/statistics.h"
#include "harness/stats/steady.h"
#include "harness/store/attempts/environments.h"
#include "harness/store/attempts/subject_reader.h"
#include "harness/store/queries/sweeps.h"
#include "harness/store/stored_row.h"
#include "workloads/spec/program_spec.h"

namespace perfbench::harness {
namespace {

// The last sweep that a query includes: sweeps that start later are ignored.
struct Until {
  std::int64_t started_s = 0;
  std::int64_t sweep_key = std::numeric_limits<std::int64_t>::max();
};

struct Bounds {
  Until nights;
  Until controls;
};

std::optional<Until> until_sweep(const Connection& db, const std::string& sweep_id) {
  Statement row(db, "SELECT CAST(strftime('%s', started_utc) AS INTEGER), sweep_key FROM sweeps WHERE sweep_id = ?");
  if (!row.with(sweep_id).step()) return std::nullopt;
  return Until{.started_s = row.integer(0), .sweep_key = row.integer(1)};
}

Bounds bounds_of(const Connection& db, const HistoryQuery& query) {
  if (!query.night) {
    Statement now(db, "SELECT CAST(strftime('%s', ?) AS INTEGER)");
    now.with(query.now_utc).step();
    return {.nights = {.started_s = now.integer(0)}, .controls = {.started_s = now.integer(0)}};
  }
  const auto nothing = Until{.started_s = -1};  // a night that left no row has no history
  const auto night = until_sweep(db, query.night->sweep_id).value_or(nothing);
  return {.nights = night, .controls = until_sweep(db, query.night->control_id).value_or(night)};
}

// Selects nights and their controls within ?1 to ?4 (Bounds), of the matrix ?5 or of all, the newest of each matrix
// first; a night without a valid start counts as the oldest. Written once and used by every query.
std::string nights_sql(const HistoryQuery& query) {
  const auto control = kind_condition("kind", SweepsOf::control);
  return "WITH dated AS (SELECT sweep_key, sweep_id, matrix AS swept, started_utc AS night_utc, kind, "
         "CAST(strftime('%s', started_utc) AS INTEGER) AS night_s, coalesce(selection, '') AS selected, " +
         control + " AS is_control FROM sweeps LEFT JOIN sweep_selections USING (sweep_key) WHERE " + control +
         " OR (" + kind_condition("kind", query.of) +
         " AND sweep_id <> '' AND (?5 IS NULL OR matrix = ?5))), nights AS (SELECT *, row_number() OVER (PARTITION BY "
         "is_control, swept "
         "ORDER BY night_s DESC, sweep_key DESC) AS age FROM dated WHERE night_s IS NULL OR "
         "(night_s, sweep_key) <= (CASE WHEN is_control THEN ?3 ELSE ?1 END, CASE WHEN is_control THEN ?4 ELSE ?2 "
         "END)) ";
}

void bind_nights(Statement& rows, const Bounds& bounds, const HistoryQuery& query) {
  rows.bind(1, bounds.nights.started_s);
  rows.bind(2, bounds.nights.sweep_key);
  rows.bind(3, bounds.controls.started_s);
  rows.bind(4, bounds.controls.sweep_key);
  rows.bind(5, query.matrix);
}

// In the form for SQLite's GLOB: in a pattern, only * is special.
std::string glob_of(const std::string& pattern) {
  std::string out;
  for (const char letter : pattern) {
    if (letter == '[' || letter == '?') {
      out += std::string("[") + letter + "]";
    } else {
      out += letter;
    }
  }
  return out;
}

struct Run {
  double log = 0;
  double probe_spread = 0;
};

// A night of a cell on a machine by one subject.
struct Group {
  std::int64_t sweep_key = 0;
  std::int64_t environment_key = 0;
  std::shared_ptr<const Subject> subject;  // never null
  std::vector<Run> runs;
};

struct SweepRow {
  NightId night;
  std::int64_t started_s = 0;
  std::string only;
};

// The field of a run that says which way a declared metric is better: "program.metrics.NAME.better".
const std::string kDeclaredBegin = "program.metrics.";
const std::string kDeclaredEnd = ".better";

class HistoryReader {
 public:
  explicit HistoryReader(const Connection& db) : db_(db), environments_(db), subjects_(db) {}

  std::vector<SeriesHistory> read(const HistoryQuery& query) {
    Statement rows(db_, nights_sql(query) +
                            "SELECT a.cell_key, a.sweep_key, a.environment_key, m.value, p.value, sweep_id, night_utc, "
                            "night_s, selected, a.state, a.attempt_key, is_control, kind "
                            "FROM nights CROSS JOIN attempts a USING (sweep_key) "
                            "CROSS JOIN metrics m ON m.attempt_key = a.attempt_key AND m.name_key = "
                            "(SELECT name_key FROM names WHERE name = ?6) "
                            "LEFT JOIN metrics p ON p.attempt_key = a.attempt_key AND p.name_key = "
                            "(SELECT name_key FROM names WHERE name = 'probe_spread_fraction') "
                            "WHERE age <= ?7 AND a.environment_key IS NOT NULL AND m.value > 0 AND (is_control OR "
                            "a.cell_key IN (SELECT cell_key FROM cells WHERE matrix || '/' || label GLOB ?8))");
    bind_nights(rows, bounds_of(db_, query), query);
    rows.bind(6, query.metric);
    rows.bind(7, query.nights);
    rows.bind(8, glob_of(query.series));
    while (rows.step()) {
      try {
        if (is_usable(rows)) take(rows);
      } catch (const UnreadableRow& e) {
        db_.leave_out(e.what());
      }
    }
    return series(query.metric);
  }

 private:
  // Throws UnreadableRow.
  bool is_usable(const Statement& row) const {
    const RowName attempt{"attempts", "attempt_key " + row.text(10)};
    if (row.text(9) != spec::enum_name(AttemptState::ok)) {
      stored_enum<AttemptState>(db_, attempt, "state", row.text(9));
      return false;
    }
    stored_number(db_, {"metrics", attempt.row}, "value", row.real(3));
    if (row.is_null(7)) {
      refuse_row(db_, {"sweeps", "sweep_id " + row.text(5)},
                 "started_utc is '" + row.text(6) + "', which is not a valid time");
    }
    return true;
  }

  void take(const Statement& row) {
    const auto sweep_key = row.integer(1);
    const auto environment_key = row.integer(2);
    const auto kind = stored_enum<SweepKind>(db_, {"sweeps", "sweep_id " + row.text(5)}, "kind", row.text(12));
    auto subject = subjects_.of({.attempt_key = row.integer(10),
                                 .sweep_id = row.text(5),
                                 .kind = kind,
                                 .environment = environments_.of(environment_key)});
    // In a demonstration, the planted fault is the point.
    if (subject.is_faulty() && kind != SweepKind::simulated) return;
    auto& groups = cells_[{row.integer(0), row.integer(11) != 0}];
    const auto& machine = environments_.of(environment_key)->machine_fingerprint;
    // Rows are sorted by night, so the group is near the end.
    auto group = std::find_if(groups.rbegin(), groups.rend(), [&](const Group& g) {
      return g.sweep_key == sweep_key && environments_.of(g.environment_key)->machine_fingerprint == machine &&
             same_subject(*g.subject, subject);
    });
    if (group == groups.rend()) {
      groups.push_back({.sweep_key = sweep_key,
                        .environment_key = environment_key,
                        .subject = shared(std::move(subject)),
                        .runs = {}});
      group = groups.rbegin();
    }
    group->runs.push_back({std::log(row.real(3)), row.is_null(4) ? 0 : row.real(4)});
    auto& sweep = sweeps_[sweep_key];
    if (!sweep.night.sweep_id.empty()) return;
    sweep = {.night = {.sweep_id = row.text(5), .started_utc = row.text(6), .revision = {}},
             .started_s = row.integer(7),
             .only = row.text(8)};
  }

  // Many points share few subjects, which appear night by night.
  std::shared_ptr<const Subject> shared(Subject subject) {
    const auto alike = [&subject](const std::shared_ptr<const Subject>& known) {
      return known->told == subject.told && same_subject(*known, subject);
    };
    const auto known = std::find_if(known_subjects_.rbegin(), known_subjects_.rend(), alike);
    if (known != known_subjects_.rend()) return *known;
    return known_subjects_.emplace_back(std::make_shared<const Subject>(std::move(subject)));
  }

  NightPoint point(const Group& group, double most_spread) {
    const auto& sweep = sweeps_.at(group.sweep_key);
    const auto& environment = environments_.of(group.environment_key);
    NightPoint out{.night = sweep.night,
                   .started_s = sweep.started_s,
                   .sweep_key = group.sweep_key,
                   .only = sweep.only,
                   .machine = environment->machine_fingerprint,
                   .subject = group.subject,
                   .facts = {environment, &environment->facts}};
    out.night.revision = environment->git_commit();
    const auto noisy = [most_spread](const Run& run) { return run.probe_spread > most_spread; };
    out.noisy = std::all_of(group.runs.begin(), group.runs.end(), noisy);
    std::vector<double> logs;
    for (const auto& run : group.runs) {
      if (out.noisy || !noisy(run)) logs.push_back(run.log);
    }
    out.runs = logs.size();
    out.value = std::exp(median(std::move(logs)));
    return out;
  }

  std::vector<NightPoint> nights_of(const std::vector<Group>& groups, double most_spread) {
    std::vector<NightPoint> out;
    for (const auto& group : groups) out.push_back(point(group, most_spread));
    std::stable_sort(out.begin(), out.end(), [](const NightPoint& a, const NightPoint& b) {
      return std::tie(a.started_s, a.sweep_key, a.machine) < std::tie(b.started_s, b.sweep_key, b.machine);
    });
    return out;
  }

  std::vector<SeriesHistory> series(const std::string& metric) {
    std::vector<SeriesHistory> out;
    Statement cells(db_,
                    "SELECT cell_key, matrix, label, run_id, device, (SELECT value FROM run_fields f WHERE f.run_key = "
                    "runs.run_key AND f.name_key = (SELECT name_key FROM names WHERE name = ?1)) "
                    "FROM cells JOIN runs USING (run_key) ORDER BY 2, 3, 4");
    cells.bind(1, kDeclaredBegin + metric + kDeclaredEnd);
    while (cells.step()) {
      const auto device = spec::enum_value<spec::Device>(cells.text(4)).value_or(spec::Device::cpu);
      for (const bool is_control : {false, true}) {
        const auto found = cells_.find({cells.integer(0), is_control});
        if (found == cells_.end()) continue;
        out.push_back({.is_control = is_control,
                       .matrix = cells.text(1),
                       .cell = cells.text(2),
                       .run_id = cells.text(3),
                       .metric = metric,
                       .declared = direction_of(cells.text(5)),
                       .nights = nights_of(found->second, most_probe_spread(device))});
      }
    }
    return out;
  }

  static std::optional<spec::Direction> direction_of(const std::string& better) {
    if (better == spec::enum_name(spec::Better::lower)) return spec::Direction::lower_is_better;
    if (better == spec::enum_name(spec::Better::higher)) return spec::Direction::higher_is_better;
    return std::nullopt;
  }

  const Connection& db_;
  EnvironmentReader environments_;
  SubjectReader subjects_;
  std::vector<std::shared_ptr<const Subject>> known_subjects_;
  std::map<std::pair<std::int64_t, bool>, std::vector<Group>> cells_;  // by cell, and whether it is the control's
  std::unordered_map<std::int64_t, SweepRow> sweeps_;                  // by sweep
};

// For the runs of one sweep. The names are found by the index of their unique column.
std::set<std::string> declared_metrics(const Connection& db, const std::string& sweep_id) {
  Statement rows(db,
                 "SELECT DISTINCT n.name FROM names n CROSS JOIN sweeps s CROSS JOIN attempts a USING (sweep_key) "
                 "CROSS JOIN cells c USING (cell_key) "
                 "CROSS JOIN run_fields f ON f.run_key = c.run_key AND f.name_key = n.name_key "
                 "WHERE n.name >= ?1 AND n.name < ?2 AND s.sweep_id = ?3 AND f.value IN ('lower', 'higher')");
  auto beyond = kDeclaredBegin;
  ++beyond.back();
  rows.with(kDeclaredBegin, beyond, sweep_id);
  std::set<std::string> out;
  while (rows.step()) {
    const auto field = rows.text(0);
    if (!field.ends_with(kDeclaredEnd)) continue;
    out.insert(field.substr(kDeclaredBegin.size(), field.size() - kDeclaredBegin.size() - kDeclaredEnd.size()));
  }
  return out;
}

// For a row of load_tonight. If the row cannot be read, it is unknown whether the cell ran, so the cell has not
// vanished.
std::string state_tonight(const Connection& db, const Statement& row) {
  try {
    stored_enum<AttemptState>(db, {"attempts", "attempt_key " + row.text(8)}, "state", row.text(2));
    return row.text(2);
  } catch (const UnreadableRow& e) {
    db.leave_out(e.what());
    return std::string(spec::enum_name(AttemptState::ok));
  }
}

}  // namespace

std::vector<SeriesHistory> load_history(const Connection& db, const HistoryQuery& query) {
  return HistoryReader(db).read(query);
}

Tonight load_tonight(const Connection& db, const HistoryQuery& query) {
  Statement rows(db,
                 nights_sql(query) +
                     "SELECT c.matrix, c.label, a.state, a.reason, sweep_id, night_utc, "
                     "coalesce((SELECT value FROM environment_facts JOIN names USING (name_key) "
                     "WHERE environment_key = a.environment_key AND name = 'git_commit'), ''), selected, a.attempt_key "
                     "FROM nights JOIN attempts a USING (sweep_key) JOIN cells c USING (cell_key) "
                     "WHERE age = 1 AND NOT is_control ORDER BY c.matrix, c.label, a.state = 'ok', a.attempt_key");
  bind_nights(rows, bounds_of(db, query), query);
  Tonight out;
  while (rows.step()) {
    auto& night = out.night[rows.text(0)];
    if (night.sweep_id.empty()) {
      night = {rows.text(4), rows.text(5), {}};
      out.only[rows.text(0)] = rows.text(7);
    }
    if (night.revision.empty()) night.revision = rows.text(6);
    // Ordered so that the last row of a cell is its best.
    const bool same =
        !out.cells.empty() && out.cells.back().matrix == rows.text(0) && out.cells.back().cell == rows.text(1);
    if (!same) out.cells.push_back({rows.text(0), rows.text(1), {}, {}});
    out.cells.back().state = state_tonight(db, rows);
    out.cells.back().reason = rows.text(3);
  }
  for (const auto& [matrix, night] : out.night) out.declared[matrix] = declared_metrics(db, night.sweep_id);
  return out;
}

std::vector<NightId> load_future_nights(const Connection& db, const HistoryQuery& query) {
  Statement rows(db,
                 "SELECT sweep_id, started_utc FROM sweeps WHERE strftime('%s', started_utc) IS NOT NULL AND "
                 "started_utc > ?1 AND (" +
                     kind_condition("kind", SweepsOf::control) + " OR (" + kind_condition("kind", query.of) +
                     " AND (?2 IS NULL OR matrix = ?2))) ORDER BY started_utc, sweep_key");
  rows.bind(1, query.now_utc);
  rows.bind(2, query.matrix);
  std::vector<NightId> out;
  while (rows.step()) out.push_back({.sweep_id = rows.text(0), .started_utc = rows.text(1), .revision = {}});
  return out;
}

std::optional<NightId> first_night_of_control(const Connection& db, const std::string& until_utc) {
  Statement row(db,
                "WITH nights AS (SELECT sweep_id, started_utc, coalesce((SELECT value FROM attempts a "
                "JOIN environment_facts USING (environment_key) JOIN names USING (name_key) "
                "WHERE a.sweep_key = sweeps.sweep_key AND name = 'git_commit' LIMIT 1), '') AS revision "
                "FROM sweeps WHERE started_utc <= ? AND " +
                    kind_condition("kind", SweepsOf::control) +
                    ") "
                    "SELECT sweep_id, started_utc, revision FROM nights "
                    "WHERE revision = (SELECT revision FROM nights ORDER BY revision = '', started_utc DESC LIMIT 1) "
                    "ORDER BY started_utc LIMIT 1");
  if (!row.with(until_utc).step()) return std::nullopt;
  return NightId{.sweep_id = row.text(0), .started_utc = row.text(1), .revision = row.text(2)};
}

std::vector<std::int64_t> load_night_keys(const Connection& db, const HistoryQuery& query) {
  Statement rows(db, nights_sql(query) + "SELECT sweep_key FROM nights WHERE age <= ?6");
  bind_nights(rows, bounds_of(db, query), query);
  rows.bind(6, query.nights);
  std::vector<std::int64_t> out;
  while (rows.step()) out.push_back(rows.integer(0));
  return out;
}

// The probe belongs to the machine and not to the engine, because it is the same code in every engine.
std::map<std::string, double> load_probes(const Connection& db, const SeriesId& series) {
  Statement rows(db,
                 "SELECT s.sweep_id, m.value, environment_key FROM cells c JOIN runs r USING (run_key) "
                 "JOIN attempts a USING (cell_key) JOIN sweeps s USING (sweep_key) "
                 "JOIN metrics m USING (attempt_key) JOIN names n USING (name_key) "
                 "WHERE c.matrix = ? AND c.label = ? AND r.run_id = ? "
                 "AND a.state = 'ok' AND n.name = 'probe_time_s' AND m.value > 0 AND environment_key IS NOT NULL");
  rows.with(series.matrix, series.cell, series.run_id);
  EnvironmentReader environments(db);
  std::map<std::string, std::vector<double>> values;
  while (rows.step()) {
    if (environments.of(rows.integer(2))->machine_fingerprint == series.machine)
      values[rows.text(0)].push_back(rows.real(1));
  }
  std::map<std::string, double> out;
  for (auto& [sweep_id, of_night] : values) out[sweep_id] = median(std::move(of_night));
  return out;
}

}  // namespace perfbench::harness
