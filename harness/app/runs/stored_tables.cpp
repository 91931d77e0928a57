#include "harness/app/runs/stored_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/matrix/match.h"
#include "harness/store/queries/known_sessions.h"
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

bool is_whole(const Connection& db, const Selection& selected, const std::vector<CellRuns>& cells) {
  if (!selected.subject.empty()) return false;
  if (selected.kind != SelectionKind::latest_sweep && selected.kind != SelectionKind::sweep) return false;
  return !is_of_a_part(db, cells.front().attempts.front().sweep_id);
}

// Names the cells that have a comparison and no row in the table.
std::string vanished_text(const ComparedCells& compared) {
  std::vector<std::string> vanished;  // each once, however many machines the baseline has it from
  for (const auto& comparison : compared.comparisons) {
    const bool known = std::find(vanished.begin(), vanished.end(), comparison.label) != vanished.end();
    if (comparison.decision.reason == VerdictReason::vanished && !known) vanished.push_back(comparison.label);
  }
  if (vanished.empty()) return "";
  return fmt::format("{} has {} that this sweep lacks: {}", compared.request.baseline,
                     vanished.size() == 1 ? "a cell" : fmt::format("{} cells", vanished.size()),
                     fmt::join(vanished, ", "));
}

StoredTable table_of(const Connection& db, const ChosenAttempts& chosen, const Selection& selected,
                     const TableQuery& query, const Installation& installation) {
  auto cells = group_by_subject(chosen.attempts);
  StoredTable out{.title = cells.front().matrix.empty() ? "runs" : cells.front().matrix,
                  .definition = query.definition,
                  .baseline = query.baseline,
                  .left_out = left_out_text(chosen.faulty)};
  if (query.baseline.empty()) {
    out.hardware = hardware_of(cells, installation);
    out.cells = std::move(cells);
    return out;
  }
  auto compared =
      compare_cells(db, cells, selected, {.baseline = query.baseline, .definition = query.definition}, installation);
  if (const auto vanished = vanished_text(compared); !vanished.empty()) {
    out.left_out += (out.left_out.empty() ? "" : "; ") + vanished;
  }
  out.cells = std::move(compared.cells);
  out.hardware = std::move(compared.hardware);
  out.comparisons = std::move(compared.comparisons);
  out.published = std::move(compared.published);
  return out;
}

}  // namespace

ComparedCells compare_cells(const Connection& db, const std::vector<CellRuns>& cells, const Selection& selected,
                            AgainstRequest request, const Installation& installation) {
  ComparedCells out{.request = std::move(request), .cells = split_by_machine(cells)};
  out.hardware = hardware_of(out.cells, installation);
  out.request.now_utc = utc_now();
  out.request.sessions = load_known_sessions(db, out.cells, out.request.metrics);
  out.request.absent = is_whole(db, selected, out.cells) ? AbsentCells::reported : AbsentCells::passed_over;
  const PublishedCatalog published(installation.data_dir());
  auto compared = compare_against(db, published, out.cells, out.hardware, out.request);
  out.comparisons = std::move(compared.comparisons);
  out.published = std::move(compared.published);
  return out;
}

std::vector<StoredTable> stored_tables(const Connection& db, const TableQuery& query,
                                       const Installation& installation) {
  std::vector<StoredTable> out;
  std::string left_out;
  for (const auto& selection : selections_of(db, query)) {
    const auto chosen = choose_attempts(db, selection);
    if (!chosen.attempts.empty()) out.push_back(table_of(db, chosen, selection, query, installation));
    left_out = left_out_text(chosen.faulty);
  }
  if (out.empty()) no_cells(db, query.matrices.empty() ? query.selection : query.matrices.front(), left_out);
  return out;
}

}  // namespace perfbench::harness
