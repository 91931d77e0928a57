// The second part of a night: screens every series of tonight for shifts since the nights before.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/app/night/history.h"
#include "harness/app/night/night.h"
#include "harness/app/night/night_judgement.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/system/utc.h"

namespace perfbench::harness {
namespace {

// Empty for a shift that a few unlucky nights may explain. The score says nothing about its size, because outlying
// nights are clipped for it.
std::string lasting_text(const ScreenedSeries& series) {
  constexpr std::size_t kLastingNights = 3;
  constexpr double kFarAbove = 2;
  if (!series.shift) return {};
  const auto& shift = *series.shift;
  const auto nights = series.screened.size() - shift.first;
  if (nights >= kLastingNights) return fmt::format("seen on {} nights", nights);
  if (series.series.metric != "step_time_s") return {};  // start-ups and pages jump by themselves now and then
  const double deviations = std::abs(shift.shift_log) / shift.sigma;
  if (deviations < kFarAbove * shift.threshold) return {};
  return fmt::format("{:.0f} times as large as nights deviate", deviations);
}

void add_series(const std::string& metric, const ScreenedSeries& series, Screened& out) {
  ++out.series;
  add_screened(out.ledger, metric, series);
  if (series.state == ScreenState::too_few_nights) ++out.too_few_nights;
  if (series.state == ScreenState::shifted) out.shifted.push_back({metric, series});
  if (!series.is_control) {
    out.facts[series.series.cell] = series.nights.back().facts;
    out.measured.push_back({.series = series.series,
                            .last_good = series.level_until.value_or(NightId{}),
                            .first_bad = series.nights.back().night});
    if (series.state == ScreenState::too_few_nights) out.unscreened.push_back(out.measured.back());
  }
  if (!series.finding) return;
  out.findings.push_back(*series.finding);
  if (const auto lasts = lasting_text(series); !lasts.empty()) {
    out.lasting[{series.series.cell, series.series.metric}] = lasts;
  }
}

// The mean and the median of a cell's steps are one finding, and one question to pairs.
void leave_out_repeats(Screened& out) {
  out.findings = without_repeats(std::move(out.findings));
  std::erase_if(out.shifted, [&](const ShiftedSeries& shifted) {
    return std::none_of(out.findings.begin(), out.findings.end(),
                        [&](const Finding& finding) { return finding.series == shifted.series.series; });
  });
  out.unscreened = that_need_pairs(std::move(out.unscreened));
}

void note_changes(const HistoryResult& seen, const std::string& sweep_id, std::vector<std::string>& notes) {
  for (const auto& series : seen.series) {
    if (series.changes.empty() || series.changes.back().night.sweep_id != sweep_id) continue;
    auto note = "Tonight has " + change_text(series.changes.back());
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  }
}

// With their step times, if a previous night used tonight's class of machine.
std::vector<NightCell> cells_of(const HistoryResult& seen) {
  std::vector<NightCell> out;
  for (const auto& cell : seen.tonight) {
    if (cell.only_planned()) continue;
    auto& listed = out.emplace_back(NightCell{.cell = cell.cell});
    const auto series = std::find_if(seen.series.begin(), seen.series.end(), [&](const ScreenedSeries& one) {
      return !one.is_control && one.series.cell == cell.cell;
    });
    if (series == seen.series.end()) continue;
    const auto& nights = series->nights;
    if (spec::unit_of(seen.metric) == "s") {
      listed.tonight_s = nights.back().value;
      if (nights.size() > 1) listed.last_s = nights[nights.size() - 2].value;
    }
    if (series->state != ScreenState::too_few_nights) listed.screened_against = nights.size() - 1;
  }
  return out;
}

// A failed cell that was measured recently has vanished, which is a finding. A cell that fails every night has no
// history.
std::vector<UnseenCell> cells_without_numbers(const std::string& matrix, const std::vector<TonightCell>& tonight,
                                              const Screened& screened) {
  const auto has = [&](const std::vector<Finding>& findings, const std::string& cell) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return cell_of(matrix, f) == cell; });
  };
  std::vector<UnseenCell> out;
  for (const auto& cell : tonight) {
    if (cell.only_planned() || has(screened.measured, cell.cell) || has(screened.findings, cell.cell)) continue;
    out.push_back({cell.cell,
                   {},
                   cell.state == "ok" ? "it has none of the screened metrics"
                                      : "it did not run: " + cell.state + ", " + cell.reason});
  }
  return out;
}

// Nights may begin in the same second: if both are among these nights, their order counts.
bool is_not_before(const std::vector<NightPoint>& nights, const NightPoint& night, const NightId& other) {
  const auto found = std::find_if(nights.begin(), nights.end(),
                                  [&](const NightPoint& point) { return point.night.sweep_id == other.sweep_id; });
  if (found == nights.end()) return night.night.started_utc >= other.started_utc;
  return &night >= &*found;
}

// The newest night of a cell, on any machine; for a cell with a live alert, the last good night before it.
void find_last_good_nights(Night& night, const Measured& measured, Screened& out) {
  auto& earlier = out.earlier;
  if (earlier.empty() || std::all_of(earlier.begin(), earlier.end(), [](const auto& c) { return c.second.empty(); })) {
    out.notes.push_back(
        "This database has no earlier measurements of this matrix, so there is no baseline for tonight");
  }
  const auto live = load_alerts(night.store.db(), AlertScope::live);
  for (auto& series : out.unscreened) {
    series.seen_utc = night.started_utc;
    const auto& nights = earlier[series.series.cell];
    const auto good = std::find_if(nights.rbegin(), nights.rend(), [&](const NightPoint& point) {
      return std::none_of(live.begin(), live.end(), [&](const Alert& alert) {
        const auto& bad = alert.finding;
        return is_bad(bad.kind) && bad.series.matrix == series.series.matrix && bad.series.cell == series.series.cell &&
               is_not_before(nights, point, bad.first_bad);
      });
    });
    if (good == nights.rend()) continue;
    compare_with_night(series, good->night, measured.code_name());
  }
}

}  // namespace

void compare_with_night(Finding& series, const NightId& good, const std::string& code) {
  series.last_good = good;
  series.detail = fmt::format("too few nights on this class of machine: compared with the {} of {}", code,
                              date_of(good.started_utc));
}

Screened screen(Night& night, const Measured& measured) {
  Screened out;
  std::vector<TonightCell> tonight;
  std::vector<ScreenedSeries> noisier;
  const NightSweeps sweeps{night.sweep_id, measured.control_id};
  const auto known = known_shifts(load_alerts(night.store.db(), AlertScope::all));
  bool is_described = false;
  for (const auto& metric : measured.screened) {
    const auto seen = look_at_history(night.store.db(), {.matrix = measured.matrix, .metric = metric, .night = sweeps},
                                      known, night.options.budget);
    const bool is_step_time = metric == "step_time_s";
    for (const auto& [cell, nights] : seen.earlier) {
      auto& of_cell = out.earlier[cell.second];
      if (of_cell.empty()) of_cell = nights;
    }
    for (const auto& series : seen.series) {
      if (series.is_control && !is_step_time) continue;
      add_series(metric, series, out);
      if (series.noisier) noisier.push_back(series);
    }
    // A cell that vanished is missing in every metric. The first metric that there are nights of describes the cells.
    const bool has_nights = !seen.earlier.empty() || std::any_of(seen.series.begin(), seen.series.end(),
                                                                 [](const auto& one) { return !one.is_control; });
    if (is_described || !(has_nights || metric == measured.screened.back())) continue;
    is_described = true;
    out.findings.insert(out.findings.end(), seen.vanished.begin(), seen.vanished.end());
    for (const auto& future : seen.future) out.notes.push_back(future_night_text(future));
    note_changes(seen, night.sweep_id, out.notes);
    out.cells = cells_of(seen);
    tonight = seen.tonight;
  }
  out.noisier = noisier_finding(noisier);
  leave_out_repeats(out);
  for (auto& cell : out.cells) {
    cell.metrics =
        static_cast<std::size_t>(std::count_if(out.measured.begin(), out.measured.end(),
                                               [&](const Finding& series) { return series.series.cell == cell.cell; }));
  }
  out.unseen = cells_without_numbers(measured.matrix, tonight, out);
  find_last_good_nights(night, measured, out);
  return out;
}

}  // namespace perfbench::harness
