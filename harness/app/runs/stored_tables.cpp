#include "harness/app/runs/stored_tables.h"

#include <fmt/format.h>

#include <set>

#include "harness/app/runs/against.h"
#include "harness/matrix/match.h"
#include "harness/store/queries/known_sessions.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {

namespace {

[[noreturn]] void no_cells(const Connection& db, const std::string& selection, const std::string& left_out) {
  if (!db.left_out().empty()) {
    throw InputError(*db.left_out().begin() + "; there is nothing else in '" + selection + "'");
  }
  if (!left_out.empty()) throw InputError("[store] '" + selection + "' selects no other attempt: " + left_out);
  throw InputError("[store] " + db.path().string() + " has no runs; fill it with `perfbench sweep` or " +
                   "`perfbench ingest`");
}

}  // namespace

StoredCells stored_cells(const Connection& db, const std::string& selection) {
  const auto chosen = choose_attempts(db, parse_selection(selection));
  StoredCells out{.cells = group_by_subject(chosen.attempts), .left_out = left_out_text(chosen.faulty)};
  if (out.cells.empty()) no_cells(db, selection, out.left_out);
  return out;
}

namespace {

void add_hardware(const std::string& name, const Installation& installation, HardwareByName& out) {
  if (name == "host" || out.contains(name)) return;
  try {
    out[name] = ModelCatalog(installation.data_dir()).hardware(name);
  } catch (const spec::SpecError&) {
    // An old database may name hardware whose file is gone: its rows are shown without MFU.
  }
}

}  // namespace

HardwareByName hardware_of(const std::vector<CellRuns>& cells, const Installation& installation) {
  HardwareByName out;
  for (const auto& cell : cells) add_hardware(hardware_name(cell.run(), cell.environment()), installation, out);
  return out;
}

HardwareByName hardware_of(const std::vector<StoredAttempt>& attempts, const Installation& installation) {
  HardwareByName out;
  for (const auto& attempt : attempts) {
    if (attempt.environment) {
      add_hardware(hardware_name(*attempt.run, attempt.environment->facts), installation, out);
    }
  }
  return out;
}

namespace {

// Newest first, without duplicates.
std::vector<Selection> selections_of(const Connection& db, const TableQuery& query) {
  if (query.matrices.empty()) return {parse_selection(query.selection)};
  const auto newest = newest_sweeps(db);
  if (newest.empty()) no_cells(db, query.matrices.front(), "");
  std::vector<std::string> names;
  std::vector<Selection> out;
  std::set<std::string> unknown(query.matrices.begin(), query.matrices.end());
  for (const auto& [matrix, sweep_id] : newest) {
    names.push_back(matrix);
    bool wanted = false;
    for (const auto& pattern : query.matrices) {
      if (!glob_matches(pattern, matrix)) continue;
      unknown.erase(pattern);
      wanted = true;
    }
    if (wanted) out.push_back({.kind = SelectionKind::sweep, .id = sweep_id});
  }
  if (unknown.empty()) return out;
  throw InputError(fmt::format("[report] --matrix '{}': {} has no sweep of it{}; it has sweeps of: {}",
                               *unknown.begin(), db.path().string(), spec::suggestion(*unknown.begin(), names),
                               fmt::join(names, ", ")));
}

StoredTable table_of(const Connection& db, const ChosenAttempts& chosen, const TableQuery& query,
                     const Installation& installation) {
  auto cells = group_by_subject(chosen.attempts);
  if (!query.baseline.empty()) cells = split_by_machine(cells);
  StoredTable out{.title = cells.front().matrix.empty() ? "runs" : cells.front().matrix,
                  .definition = query.definition,
                  .baseline = query.baseline,
                  .hardware = hardware_of(cells, installation),
                  .left_out = left_out_text(chosen.faulty)};
  out.cells = std::move(cells);
  if (query.baseline.empty()) return out;
  AgainstRequest against{.baseline = query.baseline, .definition = query.definition, .now_utc = utc_now()};
  against.sessions = load_known_sessions(db, out.cells, against.metrics);
  const PublishedCatalog published(installation.data_dir());
  auto compared = compare_against(db, published, out.cells, out.hardware, against);
  out.comparisons = std::move(compared.comparisons);
  out.published = std::move(compared.published);
  return out;
}

}  // namespace

std::vector<StoredTable> stored_tables(const Connection& db, const TableQuery& query,
                                       const Installation& installation) {
  std::vector<StoredTable> out;
  std::string left_out;
  for (const auto& selection : selections_of(db, query)) {
    const auto chosen = choose_attempts(db, selection);
    if (!chosen.attempts.empty()) out.push_back(table_of(db, chosen, query, installation));
    left_out = left_out_text(chosen.faulty);
  }
  if (out.empty()) no_cells(db, query.matrices.empty() ? query.selection : query.matrices.front(), left_out);
  return out;
}

}  // namespace perfbench::harness
