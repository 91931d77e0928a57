#include "reports/night_text.h"

#include <fmt/core.h>

#include "reports/alert_text.h"
#include "reports/format/markdown_table.h"
#include "reports/format/number.h"

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

Markdown measured(const harness::NightReport& report) {
  auto text = Markdown::format("{} runs measured", report.cells_ok);
  if (report.cells_failed > 0) text += Markdown::format(", {} failed", report.cells_failed);
  if (report.cells_not_run > 0) text += Markdown::format(", {} planned only", report.cells_not_run);
  text += Markdown::format("; {} series screened", report.series);
  if (report.too_few_nights > 0)
    text += Markdown::format(", {} of them with too few nights yet", report.too_few_nights);
  return text + Markdown::format(".\n");
}

Markdown findings_table(const std::vector<NightFinding>& findings) {
  std::vector<MarkdownRow> lines{{"Cell", "Metric", "Found", "Change (95 %)", "Pairs of the night", "Why"}};
  for (const auto& finding : findings) {
    const auto& series = finding.finding.series;
    lines.push_back({series.cell, series.metric, std::string(spec::enum_name(finding.finding.kind)), change_of(finding),
                     std::string(spec::enum_name(finding.confirmation)), finding.why});
  }
  return markdown_table(lines);
}

std::string names_of(const std::vector<std::string>& metrics) {
  std::string out;
  for (const auto& metric : metrics) out += (out.empty() ? "" : ", ") + metric;
  return out.empty() ? kNothing : out;
}

Markdown unseen_table(const std::vector<harness::UnseenCell>& unseen) {
  std::vector<MarkdownRow> lines{{"Cell", "Not seen tonight", "Why"}};
  for (const auto& cell : unseen) lines.push_back({cell.cell, names_of(cell.metrics), cell.why});
  return markdown_table(lines);
}

CheckOutcome outcome_of(const NightFinding& finding) {
  const auto verdict = harness::overall(harness::verdicts_of({finding}));
  if (verdict == harness::Verdict::regressed) return CheckOutcome::failed;
  return verdict == harness::Verdict::inconclusive ? CheckOutcome::undecided : CheckOutcome::passed;
}

}  // namespace

Markdown night_markdown(const harness::NightReport& report) {
  auto out = Markdown::format(
      "# {} on {}: {}\n\n", report.matrix, report.started_utc.substr(0, 10),
      spec::enum_name(harness::overall(harness::verdicts_of(report.findings, report.not_run, report.unseen))));
  out += measured(report);
  for (const auto& engine : report.not_run) out += Markdown::format("{}.\n", engine);
  for (const auto& note : report.notes) out += Markdown::format("{}.\n", note);
  if (!report.unseen.empty()) out += Markdown::format("\n{}", unseen_table(report.unseen));
  if (report.findings.empty()) {
    return out + (report.unseen.empty() ? Markdown::format("\nNothing shifted.\n")
                                        : Markdown::format("\nNothing shifted in what was seen.\n"));
  }
  out += Markdown::format("\n{}", findings_table(report.findings));
  if (!report.live_alerts.empty()) out += Markdown::format("\n{}", alerts_markdown(report.live_alerts));
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
