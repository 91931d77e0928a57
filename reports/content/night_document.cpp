#include "reports/content/night_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>

#include "harness/matrix/matrix.h"
#include "harness/system/utc.h"
#include "reports/content/alert_document.h"
#include "reports/content/cells.h"
#include "reports/content/headline.h"
#include "reports/content/history_charts.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {
namespace {

using harness::CellState;
using harness::NightFinding;

std::string measured(const harness::NightReport& report) {
  auto text = fmt::format("{} runs measured", report.cells_ok);
  if (report.cells_failed > 0) text += fmt::format(", {} failed", report.cells_failed);
  if (report.cells_not_run > 0) text += fmt::format(", {} planned only", report.cells_not_run);
  text += fmt::format("; {} series screened", report.series - report.too_few_nights);
  if (report.too_few_nights > 0) text += fmt::format(", {} with too few nights yet", report.too_few_nights);
  const auto untested = harness::count_in_state(report.cells, CellState::not_tested);
  if (untested > 0) text += fmt::format("; {} of {} cells not tested", untested, report.cells.size());
  return text + ".";
}

// If the only open question is that nothing judged some cells, the night has the word for that.
std::string word_of(const harness::NightReport& report) {
  const auto verdict = report.verdict;
  const auto judged = harness::overall(harness::verdicts_of(report.findings, report.not_run));
  const bool untested = harness::count_in_state(report.cells, CellState::not_tested) > 0;
  if (verdict == harness::Verdict::inconclusive && judged == harness::Verdict::same && untested) {
    return std::string(spec::enum_name(CellState::not_tested));
  }
  return std::string(spec::enum_name(verdict));
}

// For a night in which nothing shifted.
std::string shift_text(const harness::NightReport& report) {
  if (report.unseen.empty()) return report.live_alerts.empty() ? "Nothing shifted." : "Nothing new shifted.";
  const auto judged = harness::count_in_state(report.cells, CellState::same);
  return judged == 0 ? "No cell was tested." : "Nothing shifted in the tested cells.";
}

harness::Verdict verdict_of(const NightFinding& finding) {
  return harness::overall(harness::verdicts_of({finding}));
}

// A footnote, so that the table stays narrow enough for a comment on a pull request.
std::vector<std::string> note_of_reason(const std::string& why) {
  return why.empty() ? std::vector<std::string>() : std::vector{why};
}

using CellNames = std::map<std::string, std::string>;

// The names of all cells that the report mentions.
CellNames names_of_cells(const harness::NightReport& report) {
  std::vector<std::string> all;
  for (const auto& cell : report.cells) all.push_back(cell.cell);
  for (const auto& finding : report.findings) all.push_back(finding.finding.series.cell);
  return short_labels(all);
}

Table findings_table(const std::vector<NightFinding>& findings, const CellNames& names) {
  Table table{.key = "findings",
              .columns = {{.title = "Cell", .key = "cell"},
                          {.title = "Metric", .key = "metric"},
                          {.title = "Change", .key = "ratio", .align = Align::right},
                          {.title = "Found", .key = "", .audience = Audience::pages},
                          {.title = "Found", .key = "kind", .audience = Audience::programs},
                          {.title = "95 % interval", .key = "", .align = Align::right, .audience = Audience::pages},
                          {.title = "Pairs of the night", .key = "", .audience = Audience::pages},
                          {.title = "Pairs of the night", .key = "confirmation", .audience = Audience::programs},
                          {.title = "Why", .key = "why", .audience = Audience::programs}},
              .rows = {}};
  for (const auto& finding : findings) {
    const auto& f = finding.finding;
    const std::string kind(spec::enum_name(f.kind));
    const auto texts = change_texts(f);
    const std::string pairs(spec::enum_name(finding.confirmation));
    table.rows.push_back({.cells = {{names.at(f.series.cell), f.series.cell},
                                    f.series.metric,
                                    {texts.change, value_of(f.ratio), tone_of(verdict_of(finding))},
                                    kind,
                                    kind,
                                    texts.interval,
                                    pairs,
                                    pairs,
                                    finding.why},
                          .notes = {kind + ", " + pairs + (finding.why.empty() ? "" : ": " + finding.why)}});
  }
  return table;
}

harness::Verdict verdict_of(CellState state) {
  switch (state) {
    case CellState::regressed:
      return harness::Verdict::regressed;
    case CellState::improved:
      return harness::Verdict::improved;
    case CellState::same:
      return harness::Verdict::same;
    case CellState::inconclusive:
    case CellState::not_measured:
    case CellState::not_tested:
      break;
  }
  return harness::Verdict::inconclusive;
}

Cell seconds(const std::optional<double>& value) {
  return {value ? format_amount(*value, "s") : kNothing, value_of(value)};
}

Table cells_table(const std::vector<harness::NightCell>& cells, const CellNames& names) {
  Table table{.key = "cells",
              .columns = {{.title = "Cell", .key = "cell"},
                          {.title = "Last night",
                           .key = "last_step_time_s",
                           .align = Align::right,
                           .audience = Audience::programs},
                          {.title = "Tonight", .key = "step_time_s", .align = Align::right},
                          {.title = "Change", .key = "ratio", .align = Align::right},
                          {.title = "State", .key = "state"},
                          {.title = "Why", .key = "why", .audience = Audience::programs}},
              .rows = {}};
  for (const auto& cell : cells) {
    std::optional<double> ratio;
    if (cell.last_s && cell.tonight_s) ratio = *cell.tonight_s / *cell.last_s;
    const std::string state(spec::enum_name(cell.state));
    table.rows.push_back({.cells = {{names.at(cell.cell), cell.cell},
                                    seconds(cell.last_s),
                                    seconds(cell.tonight_s),
                                    {ratio ? format_percent_change(*ratio) : kNothing, value_of(ratio)},
                                    {state, state, tone_of(verdict_of(cell.state))},
                                    cell.why},
                          .notes = note_of_reason(cell.why)});
  }
  return table;
}

// Whether commits lie between the last good night and the first bad one.
bool has_range(const harness::Finding& finding) {
  const auto& good = finding.last_good.revision;
  return !good.empty() && !finding.first_bad.revision.empty() && good != finding.first_bad.revision;
}

// Every cell with its state, and what the pairs or the facts of the night show.
std::vector<Judged> judged_cells(const harness::NightReport& report) {
  std::vector<Judged> out;
  for (const auto& cell : report.cells) out.push_back({.cell = cell.cell, .verdict = verdict_of(cell.state)});
  for (const auto& finding : report.findings) {
    const auto verdict = verdict_of(finding);
    if (verdict != harness::Verdict::regressed && verdict != harness::Verdict::improved) continue;
    const auto& f = finding.finding;
    out.push_back({.cell = harness::cell_of(report.matrix, f),
                   .metric = f.series.metric,
                   .verdict = verdict,
                   .ratio = f.ratio,
                   .ratio_low = f.ratio_low,
                   .ratio_high = f.ratio_high,
                   .since = has_range(f) ? range_text(f) : ""});
  }
  return out;
}

// A card for each state that a cell has, the worst first, and one for the largest change.
Cards night_cards(const harness::NightReport& report) {
  auto changes = judged_cells(report);
  std::erase_if(changes, [](const Judged& one) { return !one.ratio; });
  Cards out;
  for (const auto& [state, name] : spec::EnumNames<CellState>::kNames) {
    const auto cells = harness::count_in_state(report.cells, state);
    if (cells == 0) continue;
    out.cards.push_back({.title = std::string(name),
                         .value = fmt::format("{} of {}", cells, report.cells.size()),
                         .detail = report.cells.size() == 1 ? "cell" : "cells",
                         .tone = tone_of(verdict_of(state))});
  }
  if (auto largest = largest_change_card(changes)) out.cards.push_back(std::move(*largest));
  if (!report.live_alerts.empty()) {
    out.cards.push_back({.title = "live alerts",
                         .value = std::to_string(report.live_alerts.size()),
                         .detail = report.live_alerts.size() == 1 ? "range of commits" : "ranges of commits",
                         .tone = Tone::bad});
  }
  return out;
}

// "--only model=gpt-mini --only remat=none"; empty for a cell whose label is no list of axes.
std::string only_options(const std::string& label) {
  std::string out;
  for (const auto& [name, value] : label_axes(label)) out += " --only " + shell_word(name + "=" + value);
  return out;
}

// The commands that a reader of an open alert needs next. `of_db` is their option.
std::vector<std::string> next_steps(const std::vector<harness::AlertGroup>& groups, const std::string& of_db) {
  constexpr std::size_t kMostGroups = 3;
  std::vector<std::string> out;
  for (const auto& group : groups) {
    const auto open = std::find_if(group.alerts.begin(), group.alerts.end(), [](const harness::Alert& alert) {
      return alert.state() == harness::AlertState::open && harness::is_bad(alert.finding.kind);
    });
    if (open == group.alerts.end() || out.size() >= 2 * kMostGroups) continue;
    const auto& id = open->alert_id;
    const auto& series = open->finding.series;
    const bool can_be_bisected = !group.environment && has_range(open->finding) && spec::find_metric(series.metric);
    if (can_be_bisected) {
      out.push_back(fmt::format("Find the commit: perfbench bisect {} {} MATRIX_FILE{} --metric {}{}",
                                shell_word(group.good_revision), shell_word(group.bad_revision),
                                only_options(series.cell), series.metric, of_db));
    } else {
      out.push_back(fmt::format("See the basis of alert {}: perfbench show alert:{}{}", id, id, of_db));
    }
    out.push_back(
        fmt::format("Say that somebody works on it: perfbench alerts ack {} --reason 'bisecting'{}", id, of_db));
  }
  return out;
}

CheckOutcome outcome_of(CellState state) {
  switch (state) {
    case CellState::regressed:
      return CheckOutcome::failed;
    case CellState::improved:
    case CellState::same:
      return CheckOutcome::passed;
    case CellState::inconclusive:
    case CellState::not_measured:
    case CellState::not_tested:
      break;
  }
  return CheckOutcome::undecided;
}

// The findings of a cell, each with one line of message and two of detail. Nothing for a cell that is the same.
Check check_of_cell(const harness::NightReport& report, const harness::NightCell& cell) {
  Check out{.suite = report.matrix,
            .name = harness::shown_label(cell.cell),
            .outcome = outcome_of(cell.state),
            .message = "",
            .detail = ""};
  for (const auto& finding : report.findings) {
    const auto& f = finding.finding;
    if (harness::cell_of(report.matrix, f) != cell.cell) continue;
    out.message += fmt::format("{}{} of {} {}: {}", out.message.empty() ? "" : "; ", spec::enum_name(f.kind),
                               f.series.metric, change_text(finding.finding), spec::enum_name(finding.confirmation));
    out.detail += f.detail + "\n" + finding.why + "\n";
  }
  if (out.message.empty() && out.outcome != CheckOutcome::passed) {
    out.message = fmt::format("{}: {}", spec::enum_name(cell.state), cell.why);
  }
  out.detail += cell.why;
  return out;
}

}  // namespace

Document night_document(const harness::NightReport& report, const std::string& db) {
  Document out;
  out.add(Heading{
      .text = fmt::format("{} on {}: {}", report.matrix, harness::date_of(report.started_utc), word_of(report))});
  const bool is_named = report.verdict == harness::Verdict::regressed || report.verdict == harness::Verdict::improved;
  if (is_named) out.add(headline(report.verdict, judged_cells(report)));
  out.add_origin("Date", report.started_utc);
  out.add_origin("Sweep", report.sweep_id);
  out.add(night_cards(report));
  out.add(Paragraph{.text = measured(report)});
  constexpr int kLevel = 2;  // of a section
  if (auto steps = next_steps(report.live_alerts, " --db " + shell_word(db)); !steps.empty()) {
    out.add(Heading{.level = kLevel, .text = "What to do"});
    out.add(List{std::move(steps)});
  }
  if (!report.live_alerts.empty()) add_alerts(out, report.live_alerts, kLevel);
  for (const auto& engine : report.not_run) out.add(Paragraph{.text = engine + ".", .tone = Tone::doubtful});
  for (const auto& note : report.notes) out.add(Note{note + "."});
  const auto names = names_of_cells(report);
  if (!report.cells.empty()) {
    out.add(Heading{.level = kLevel, .text = "Cells"});
    out.add(cells_table(report.cells, names));
  }
  const bool shifted = std::any_of(report.findings.begin(), report.findings.end(), [](const NightFinding& finding) {
    return finding.finding.kind != harness::FindingKind::noisier;
  });
  if (!shifted) out.add(Paragraph{.text = shift_text(report)});
  for (const auto& [metric, series] : report.shifted) out.add(series_chart(series, metric));
  if (!report.findings.empty()) {
    out.add(Heading{.level = kLevel, .text = "Findings", .folded = true});
    out.add(findings_table(report.findings, names));
  }
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
  for (const auto& cell : report.cells) checks.push_back(check_of_cell(report, cell));
  return checks;
}

}  // namespace perfbench::reports
