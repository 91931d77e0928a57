#include "harness/judge/night_cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/system/utc.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kShownIdDigits = 6;

// A refuted finding leaves the cell unchanged.
CellState state_of(const NightFinding& finding) {
  if (finding.finding.kind == FindingKind::improvement) {
    return makes_alert(finding) ? CellState::improved : CellState::same;
  }
  switch (overall(verdicts_of({finding}))) {
    case Verdict::regressed:
      return CellState::regressed;
    case Verdict::same:
      return CellState::same;
    default:
      return CellState::inconclusive;
  }
}

CellState state_of(const UnseenCell& open) {
  if (open.metrics.empty()) return CellState::not_measured;
  return open.undecided ? CellState::inconclusive : CellState::not_tested;
}

void add_reason(NightCell& cell, const std::string& reason) {
  if (!cell.why.empty()) cell.why += "; ";
  cell.why += reason;
}

NightCell& cell_named(std::vector<NightCell>& cells, const std::string& name) {
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const NightCell& c) { return c.cell == name; });
  return found == cells.end() ? cells.emplace_back(NightCell{.cell = name}) : *found;
}

std::string how_it_was_judged(const NightCell& cell) {
  if (cell.screened_against == 0) return "pairs with its last good night do not show it to be worse";
  return fmt::format("screened with {} previous nights", cell.screened_against);
}

}  // namespace

const std::string& cell_of(const std::string& matrix, const Finding& finding) {
  return finding.series.matrix == matrix ? finding.series.cell : finding.series.matrix;
}

std::vector<NightCell> judge_cells(const std::string& matrix, std::vector<NightCell> measured,
                                   const std::vector<NightFinding>& findings, const std::vector<UnseenCell>& unseen,
                                   const std::vector<Alert>& live) {
  for (const auto& finding : findings) {
    if (finding.finding.kind == FindingKind::noisier) continue;  // says nothing about the cell's speed
    auto& cell = cell_named(measured, cell_of(matrix, finding.finding));
    cell.state = std::min(cell.state, state_of(finding));
    add_reason(cell, fmt::format("{} {} {}", finding.finding.series.metric, spec::enum_name(finding.finding.kind),
                                 spec::enum_name(finding.confirmation)));
  }
  for (const auto& open : unseen) {
    auto& cell = cell_named(measured, open.cell);
    cell.state = std::min(cell.state, state_of(open));
    const bool some = !open.metrics.empty() && open.metrics.size() != cell.metrics;
    add_reason(cell, some ? fmt::format("{}: {}", fmt::join(open.metrics, ", "), open.why) : open.why);
  }
  for (const auto& alert : live) {
    if (!is_bad(alert.finding.kind)) continue;
    auto& cell = cell_named(measured, cell_of(matrix, alert.finding));
    const bool regressed = overall(verdicts_of({alert})) == Verdict::regressed;
    cell.state = std::min(cell.state, regressed ? CellState::regressed : CellState::inconclusive);
    add_reason(cell, fmt::format("alert {} of {} {} since {}", alert.alert_id.substr(0, kShownIdDigits),
                                 alert.finding.series.metric, spec::enum_name(alert.state()),
                                 date_of(alert.finding.first_bad.started_utc)));
  }
  for (auto& cell : measured) {
    if (cell.why.empty()) cell.why = how_it_was_judged(cell);
  }
  std::stable_sort(measured.begin(), measured.end(),
                   [](const NightCell& a, const NightCell& b) { return a.state < b.state; });
  return measured;
}

std::size_t count_in_state(const std::vector<NightCell>& cells, CellState state) {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [state](const NightCell& c) { return c.state == state; }));
}

}  // namespace perfbench::harness
