#include "reports/night_document.h"

#include <fmt/core.h>

#include "reports/alert_document.h"
#include "reports/format/number.h"
#include "reports/history_charts.h"
#include "reports/verdict_tone.h"

namespace perfbench::reports {
namespace {

using harness::NightFinding;

std::string change_of(const NightFinding& finding) {
  const auto& f = finding.finding;
  if (!f.ratio) return kNothing;
  auto text = format_percent_change(*f.ratio);
  if (f.ratio_low && f.ratio_high) {
    text += fmt::format(" ({} to {})", format_percent_change(*f.ratio_low), format_percent_change(*f.ratio_high));
  }
  return text;
}

std::string measured(const harness::NightReport& report) {
  auto text = fmt::format("{} runs measured", report.cells_ok);
  if (report.cells_failed > 0) text += fmt::format(", {} failed", report.cells_failed);
  if (report.cells_not_run > 0) text += fmt::format(", {} planned only", report.cells_not_run);
  text += fmt::format("; {} series screened", report.series);
  if (report.too_few_nights > 0) text += fmt::format(", {} of them with too few nights yet", report.too_few_nights);
  return text + ".";
}

harness::Verdict verdict_of(const NightFinding& finding) {
  return harness::overall(harness::verdicts_of({finding}));
}

Table findings_table(const std::vector<NightFinding>& findings) {
  Table table{.key = "findings",
              .columns = {{.title = "Cell", .key = "cell"},
                          {.title = "Metric", .key = "metric"},
                          {.title = "Found", .key = "kind"},
                          {.title = "Change (95 %)", .key = "ratio"},
                          {.title = "Pairs of the night", .key = "confirmation"},
                          {.title = "Why", .key = "why"}},
              .rows = {}};
  for (const auto& finding : findings) {
    const auto& f = finding.finding;
    const std::string kind(spec::enum_name(f.kind));
    table.rows.push_back({.cells = {f.series.cell,
                                    f.series.metric,
                                    {kind, kind, tone_of(verdict_of(finding))},
                                    {change_of(finding), value_of(f.ratio)},
                                    std::string(spec::enum_name(finding.confirmation)),
                                    finding.why}});
  }
  return table;
}

std::string names_of(const std::vector<std::string>& metrics) {
  std::string out;
  for (const auto& metric : metrics) out += (out.empty() ? "" : ", ") + metric;
  return out.empty() ? kNothing : out;
}

Table unseen_table(const std::vector<harness::UnseenCell>& unseen) {
  Table table{.key = "unseen",
              .columns = {{.title = "Cell", .key = "cell"},
                          {.title = "Not seen tonight", .key = "metrics"},
                          {.title = "Why", .key = "why"}},
              .rows = {}};
  for (const auto& cell : unseen) {
    table.rows.push_back({.cells = {cell.cell, {names_of(cell.metrics), cell.metrics}, cell.why}});
  }
  return table;
}

CheckOutcome outcome_of(const NightFinding& finding) {
  const auto verdict = verdict_of(finding);
  if (verdict == harness::Verdict::regressed) return CheckOutcome::failed;
  return verdict == harness::Verdict::inconclusive ? CheckOutcome::undecided : CheckOutcome::passed;
}

}  // namespace

Document night_document(const harness::NightReport& report) {
  const auto verdict = harness::overall(harness::verdicts_of(report.findings, report.not_run, report.unseen));
  Document out;
  out.add(Heading{
      .text = fmt::format("{} on {}: {}", report.matrix, report.started_utc.substr(0, 10), spec::enum_name(verdict))});
  out.add(Paragraph{.text = measured(report)});
  for (const auto& engine : report.not_run) out.add(Paragraph{.text = engine + ".", .tone = Tone::doubtful});
  for (const auto& note : report.notes) out.add(Note{note + "."});
  if (!report.unseen.empty()) out.add(unseen_table(report.unseen));
  if (report.findings.empty()) {
    out.add(Paragraph{.text = report.unseen.empty() ? "Nothing shifted." : "Nothing shifted in what was seen."});
    return out;
  }
  constexpr int kAlertsLevel = 2;
  out.add(findings_table(report.findings));
  for (const auto& [metric, series] : report.shifted) out.add(series_chart(series, metric));
  if (!report.live_alerts.empty()) add_alerts(out, report.live_alerts, kAlertsLevel);
  return out;
}

std::vector<Check> night_checks(const harness::NightReport& report) {
  std::vector<Check> checks;
  checks.push_back({.suite = report.matrix,
                    .name = "screen",
                    .outcome = CheckOutcome::passed,
                    .message = "",
                    .detail = measured(report)});
  for (const auto& engine : report.not_run) {
    checks.push_back({.suite = report.matrix,
                      .name = "engines",
                      .outcome = CheckOutcome::undecided,
                      .message = engine,
                      .detail = ""});
  }
  for (const auto& cell : report.unseen) {
    checks.push_back({.suite = report.matrix,
                      .name = cell.cell + " not seen",
                      .outcome = CheckOutcome::undecided,
                      .message = "nothing is known of " + names_of(cell.metrics),
                      .detail = cell.why});
  }
  for (const auto& finding : report.findings) {
    const auto& f = finding.finding;
    checks.push_back({.suite = report.matrix,
                      .name = f.series.cell + " " + f.series.metric,
                      .outcome = outcome_of(finding),
                      .message = fmt::format("{} {}: {}", spec::enum_name(f.kind), change_of(finding),
                                             spec::enum_name(finding.confirmation)),
                      .detail = f.detail + "\n" + finding.why});
  }
  return checks;
}

}  // namespace perfbench::reports
