#include "harness/app/night/night_judgement.h"

#include <fmt/format.h>

#include <utility>

namespace perfbench::harness {
namespace {

// "24 nights from 2026-01-01 to 2026-01-24".
std::string nights_text(const ScreenedSeries& series) {
  const auto& nights = series.nights;
  return fmt::format("{} nights from {} ({}) to {} ({}), {} of them screened", nights.size(),
                     nights.front().night.started_utc, nights.front().night.sweep_id, nights.back().night.started_utc,
                     nights.back().night.sweep_id, series.screened.size());
}

std::string screen_text(const ScreenedSeries& series) {
  if (series.state == ScreenState::too_few_nights) return "too few nights: not screened";
  if (!series.shift) return "screened: no shift";
  const auto& shift = *series.shift;
  return fmt::format(
      "screened: shifted by {:+.4g} (log) since the night of index {}, deviation {:.3g}, threshold {:.3g}",
      shift.shift_log, shift.first, shift.sigma, shift.threshold);
}

std::string finding_text(const NightFinding& finding) {
  const auto& what = finding.finding;
  return fmt::format("{}, {}: {}; last good night {} ({}), first bad one {} ({})", spec::enum_name(what.kind),
                     spec::enum_name(finding.confirmation), finding.why, what.last_good.started_utc,
                     what.last_good.sweep_id, what.first_bad.started_utc, what.first_bad.sweep_id);
}

}  // namespace

void add_screened(std::vector<LedgerLine>& lines, const std::string& metric, const ScreenedSeries& series) {
  if (series.nights.empty()) return;
  const auto& cell = series.is_control ? series.series.matrix : series.series.cell;
  const auto add = [&](LedgerPart part, std::string text) {
    lines.push_back({.cell = cell, .metric = metric, .part = part, .text = std::move(text)});
  };
  add(LedgerPart::nights, nights_text(series));
  if (series.control)
    add(LedgerPart::reference, "the drift that the series has in common with the control is subtracted");
  if (series.known) {
    add(LedgerPart::reference, fmt::format("nights before {} are moved to the present level: {}",
                                           series.known->first_utc, series.known->told));
  }
  if (series.noisier) {
    add(LedgerPart::reference,
        fmt::format("it scatters {:.2f} times as much as before the night of index {}: the threshold is larger by that",
                    series.noisier->ratio, series.noisier->since));
  }
  add(LedgerPart::look, screen_text(series));
}

Judgement judgement_of(const NightReport& report, std::vector<LedgerLine> lines,
                       const std::vector<RecordedFinding>& alerts, const std::string& made_utc) {
  Judgement out{.judgement_id = report.sweep_id,
                .kind = JudgementKind::night,
                .matrix = report.matrix,
                .made_utc = made_utc,
                .lines = std::move(lines)};
  const auto add = [&out](const std::string& cell, const std::string& metric, LedgerPart part, std::string text) {
    out.lines.push_back({.cell = cell, .metric = metric, .part = part, .text = std::move(text)});
  };
  for (const auto& note : report.notes) add("", "", LedgerPart::note, note);
  for (const auto& sentence : report.not_run) add("", "", LedgerPart::note, sentence);
  for (const auto& finding : report.findings) {
    const auto& cell = cell_of(report.matrix, finding.finding);
    const auto& metric = finding.finding.series.metric;
    add(cell, metric, LedgerPart::answer, finding_text(finding));
    for (const auto& id : finding.finding.confirmation) {
      add(cell, metric, LedgerPart::reference, "pairs: verdict:" + id);
    }
  }
  for (const auto& cell : report.unseen) {
    for (const auto& metric : cell.metrics) add(cell.cell, metric, LedgerPart::answer, "NOT TESTED: " + cell.why);
  }
  for (const auto& cell : report.cells) {
    add(cell.cell, "", LedgerPart::answer,
        fmt::format("{}{}{}", spec::enum_name(cell.state), cell.why.empty() ? "" : ": ", cell.why));
  }
  for (const auto& recorded : alerts) {
    const auto& finding = recorded.alert.finding;
    add(cell_of(report.matrix, finding), finding.series.metric, LedgerPart::alert, recorded.alert.alert_id);
  }
  add("", "", LedgerPart::answer, std::string(spec::enum_name(report.verdict)));
  return out;
}

}  // namespace perfbench::harness
