#include "reports/content/ab_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "harness/pairs/git_history.h"
#include "reports/content/cells.h"
#include "reports/content/headline.h"
#include "reports/content/trace_document.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::CellVerdict;
using harness::Verdict;

constexpr double kPercent = 100;
constexpr std::size_t kCellsDrawn = 12;
constexpr std::size_t kSharesDrawn = 12;

std::vector<Judged> judged_pairs(const std::vector<CellVerdict>& cells) {
  std::vector<Judged> out;
  for (const auto& cell : cells) {
    if (cell.whole) out.push_back(judged(cell.label, "the run", *cell.whole));
    for (const auto& metric : cell.metrics) {
      out.push_back(judged(cell.label, metric.rule.metric, metric.decided.decision));
      out.back().margin_fraction = metric.rule.margin_fraction;
    }
  }
  return out;
}

const harness::MetricVerdict* step_time_of(const CellVerdict& cell) {
  const auto found = std::find_if(cell.metrics.begin(), cell.metrics.end(),
                                  [](const auto& metric) { return metric.rule.metric == "step_time_s"; });
  return found == cell.metrics.end() ? nullptr : &*found;
}

// The ratio of each pair, including pairs after the deciding look, with lines at the estimate and at the margin on both
// sides.
Chart pairs_chart(const CellVerdict& cell) {
  Chart out{.key = "pairs_" + cell.label,
            .title = "Step time of B against A, pair by pair: " + cell.label,
            .x = {.title = "pair"},
            .y = {.title = "change (%)", .from_zero = true},
            .series = {}};
  ChartSeries kept{.name = "kept", .marks = Marks::points, .points = {}, .colour = Colour::plain};
  ChartSeries discarded{.name = "discarded", .marks = Marks::points, .points = {}, .colour = Colour::doubtful};
  for (const auto& pair : cell.pairs_seen) {
    if (!pair.step_ratio) continue;
    (pair.discarded.empty() ? kept : discarded)
        .points.push_back(
            {.x = static_cast<double>(pair.number), .y = (*pair.step_ratio - 1) * kPercent, .label = pair.discarded});
  }
  const bool nothing = kept.points.empty() && discarded.points.empty();
  for (auto* series : {&kept, &discarded}) {
    if (!series->points.empty()) out.series.push_back(std::move(*series));
  }
  const auto* metric = step_time_of(cell);
  if (nothing || metric == nullptr) return out;
  const auto line = [&](const char* name, double percent, Colour colour) {
    const auto last = static_cast<double>(cell.pairs_seen.back().number);
    out.series.push_back({.name = name,
                          .marks = Marks::ideal,
                          .points = {{.x = 1, .y = percent}, {.x = last, .y = percent}},
                          .colour = colour});
  };
  if (const auto& ratio = metric->decided.decision.ratio) line("estimate", (*ratio - 1) * kPercent, Colour::plain);
  line("margin, slower", metric->rule.margin_fraction * kPercent, Colour::bad);
  line("margin, faster", (1 / (1 + metric->rule.margin_fraction) - 1) * kPercent, Colour::good);
  return out;
}

}  // namespace

std::vector<Chart> ab_charts(const std::vector<CellVerdict>& cells) {
  std::vector<Chart> out;
  auto all = decisions_chart(judged_pairs(cells), "B compared with A, with 95 % intervals");
  if (!all.series.empty()) out.push_back(std::move(all));
  std::vector<const CellVerdict*> order;
  for (const auto& cell : cells) order.push_back(&cell);
  std::stable_partition(order.begin(), order.end(), [](const CellVerdict* cell) {
    return harness::overall(harness::verdicts_of({*cell})) != Verdict::same;
  });
  order.resize(std::min(order.size(), kCellsDrawn));
  for (const auto* cell : order) {
    if (auto pairs = pairs_chart(*cell); !pairs.series.empty()) out.push_back(std::move(pairs));
    if (!cell->attribution) continue;
    auto parts = attribution_chart(*cell->attribution, kSharesDrawn);
    parts.key += "_" + cell->label;
    parts.title += ": " + cell->label;
    out.push_back(std::move(parts));
  }
  return out;
}

namespace {

using harness::Decision;
using harness::MetricVerdict;
using harness::StoredSide;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestShown = 3;

std::string side_text(const StoredSide& side) {
  if (side.kind == harness::SideKind::revision) {
    return fmt::format("{} ({})", side.asked, harness::short_commit(side.git_commit));
  }
  return side.asked;
}

Cell verdict_cell(Verdict verdict) {
  const std::string name(spec::enum_name(verdict));
  return {name, name, tone_of(verdict)};
}

Cell pairs_cell(std::size_t pairs) {
  return {std::to_string(pairs), static_cast<std::int64_t>(pairs)};
}

const std::vector<Column>& ab_columns() {
  static const std::vector<Column> all{
      {.title = "Cell", .key = "cell"},
      {.title = "Metric", .key = "metric"},
      {.title = "Verdict", .key = "verdict"},
      {.title = "A", .key = "", .align = Align::right, .audience = Audience::people},
      {.title = "B", .key = "", .align = Align::right, .audience = Audience::people},
      {.title = "A median", .key = "a_median", .audience = Audience::programs},
      {.title = "B median", .key = "b_median", .audience = Audience::programs},
      {.title = "B against A", .key = "ratio", .align = Align::right},
      {.title = "95 % interval", .key = "", .align = Align::right, .audience = Audience::people},
      {.title = "Detectable from", .key = "detectable_fraction", .align = Align::right},
      {.title = "Pairs", .key = "pairs", .align = Align::right},
      {.title = "Ratio from", .key = "ratio_low", .audience = Audience::programs},
      {.title = "Ratio to", .key = "ratio_high", .audience = Audience::programs},
      {.title = "Reason", .key = "reason", .audience = Audience::programs},
  };
  return all;
}

// B's value according to the paired estimate. The median of B's runs comes from other pairs than A's, and may
// contradict the estimate.
std::optional<double> b_by_estimate(const MetricVerdict& metric) {
  const auto& ratio = metric.decided.decision.ratio;
  if (!metric.a_median || !ratio) return metric.b_median;
  return *metric.a_median * *ratio;
}

Row row(const CellVerdict& cell, const MetricVerdict& metric) {
  const auto& decision = metric.decided.decision;
  const auto& name = metric.rule.metric;
  const auto& ratio_95 = decision.ratio_95;
  const auto texts = change_texts(decision);
  return {.cells = {cell.label, name, verdict_cell(decision.verdict), amount_cell(metric.a_median, name),
                    amount_cell(b_by_estimate(metric), name), Cell("", value_of(metric.a_median)),
                    Cell("", value_of(metric.b_median)), Cell(texts.change, value_of(decision.ratio)), texts.interval,
                    Cell(decision.detectable_fraction ? format_percent(*decision.detectable_fraction) : kNothing,
                         value_of(decision.detectable_fraction)),
                    pairs_cell(metric.pairs), Cell("", ratio_95 ? Value(ratio_95->low) : Value()),
                    Cell("", ratio_95 ? Value(ratio_95->high) : Value()),
                    std::string(spec::enum_name(decision.reason))}};
}

Row whole_row(const CellVerdict& cell) {
  const Cell nothing(kNothing, Value());
  return {.cells = {cell.label, "(the cell)", verdict_cell(cell.whole->verdict), nothing, nothing, nothing, nothing,
                    nothing, nothing, nothing, pairs_cell(cell.pairs_used), nothing, nothing,
                    std::string(spec::enum_name(cell.whole->reason))}};
}

// A cell in which no pair counts says so once, and not for each metric.
bool needs_words(const CellVerdict& cell, const Decision& decision) {
  if (decision.reason == harness::VerdictReason::no_measurement && cell.pairs_used == 0) return false;
  return decision.verdict != Verdict::same;
}

std::vector<std::string> words_about(const CellVerdict& cell) {
  std::vector<std::string> out;
  if (cell.whole) out.push_back(cell.label + ": " + cell.whole->detail);
  for (const auto& metric : cell.metrics) {
    const auto& decision = metric.decided.decision;
    if (!needs_words(cell, decision)) continue;
    out.push_back(fmt::format("{} {}: {} ({}: {})", cell.label, metric.rule.metric, spec::enum_name(decision.verdict),
                              spec::enum_name(decision.reason), decision.detail));
  }
  if (cell.attribution) {
    for (const auto& line : largest_differences(*cell.attribution, kLargestShown)) {
      out.push_back(cell.label + " where: " + line);
    }
  }
  for (const auto& note : cell.notes) out.push_back(cell.label + ": " + note);
  return out;
}

void add_list(Document& out, std::vector<std::string> items) {
  if (!items.empty()) out.add(List{std::move(items)});
}

void add_discarded(Document& out, const std::vector<CellVerdict>& cells) {
  std::size_t used = 0;
  std::size_t discarded = 0;
  std::vector<std::string> lines;
  for (const auto& cell : cells) {
    used += cell.pairs_used;
    discarded += cell.pairs_discarded;
    for (const auto& [kind, pairs] : cell.discarded) {
      lines.push_back(
          fmt::format("{}: {} {}, the first: {}", cell.label, pairs.count, spec::enum_name(kind), pairs.first));
    }
  }
  out.add(Paragraph{.text = fmt::format("{} pairs used, {} discarded{}", used, discarded, discarded == 0 ? "" : ":")});
  add_list(out, std::move(lines));
}

// Says how the runs of a pair shared the machine, because the meaning of a difference depends on it.
void add_pairing(Document& out, const std::vector<CellVerdict>& cells) {
  std::size_t in_turns = 0;
  std::map<std::string, std::size_t> apart;  // number of cells by reason
  for (const auto& cell : cells) {
    if (cell.in_turns) ++in_turns;
    if (!cell.apart_because.empty()) ++apart[cell.apart_because];
  }
  if (in_turns > 0) {
    out.add(Paragraph{.text = fmt::format("in turns: A and B alternate step by step, each with the caches as the other "
                                          "left them: the pairs of {} of {} cells. Step times are compared turn by "
                                          "turn. Doubling the steps per pair helps as much as doubling the pairs",
                                          in_turns, cells.size())});
  }
  for (const auto& [why, count] : apart) {
    out.add(Paragraph{
        .text = fmt::format("one run after the other: the pairs of {} of {} cells: {}", count, cells.size(), why)});
  }
}

void add_instructions(Document& out, const harness::AbReport& report) {
  if (!report.instructions_unavailable.empty()) {
    out.add(Paragraph{.text = "instructions: not available here (" + report.instructions_unavailable + ")"});
    return;
  }
  out.add(Paragraph{.text = "instructions (user mode, B / A, median of pairs):"});
  std::vector<std::string> lines;
  for (const auto& cell : report.cells) {
    const auto ratio = cell.instructions_ratio ? fmt::format("{:.6f}", *cell.instructions_ratio) : kNothing;
    lines.push_back(cell.label + ": " + ratio);
  }
  add_list(out, std::move(lines));
}

void add_gate(Document& out, const harness::AbReport& report) {
  if (!report.gate_refusals) return;
  const auto outcome = gate_outcome(report);
  const auto tone = outcome == "passed" ? Tone::good : outcome == "failed" ? Tone::bad : Tone::doubtful;
  out.add(Paragraph{.text = "gate: " + outcome, .tone = tone});
  add_list(out, *report.gate_refusals);
}

Json side_json(const StoredSide& side) {
  const bool of_settings = side.kind == harness::SideKind::settings;
  return {{"asked", side.asked},
          {"kind", spec::enum_name(side.kind)},
          {"commit", side.git_commit},
          {"engine", side.engine},
          {"set", of_settings ? harness::side_settings(side.asked) : std::vector<std::string>()}};
}

Json decision_json(const Decision& decision) {
  return {{"verdict", spec::enum_name(decision.verdict)},
          {"reason", spec::enum_name(decision.reason)},
          {"detail", decision.detail},
          {"ratio", or_null(decision.ratio)},
          {"ratio_low", decision.ratio_95 ? or_null(decision.ratio_95->low) : Json()},
          {"ratio_high", decision.ratio_95 ? or_null(decision.ratio_95->high) : Json()},
          {"p", or_null(decision.p)},
          {"detectable_fraction", or_null(decision.detectable_fraction)}};
}

Json metric_json(const MetricVerdict& metric) {
  Json out{{"metric", metric.rule.metric},
           {"margin_fraction", metric.rule.margin_fraction},
           {"a_median", or_null(metric.a_median)},
           {"b_median", or_null(metric.b_median)},
           {"pairs", metric.pairs}};
  out.update(decision_json(metric.decided.decision));
  out["pairs_needed"] = metric.decided.pairs_needed ? Json(*metric.decided.pairs_needed) : Json();
  return out;
}

Json cell_json(const CellVerdict& cell) {
  Json out{{"cell", cell.label},
           {"in_turns", cell.in_turns},
           {"apart_because", cell.apart_because},
           {"pairs_used", cell.pairs_used},
           {"pairs_discarded", cell.pairs_discarded},
           {"discarded", Json::object()},
           {"pairs", Json::array()},
           {"cores_while_waiting", Json::object()},
           {"instructions_ratio", or_null(cell.instructions_ratio)},
           {"whole", cell.whole ? decision_json(*cell.whole) : Json()},
           {"metrics", Json::array()},
           {"attribution", cell.attribution ? Json::parse(attribution_json(*cell.attribution)) : Json()},
           {"notes", cell.notes}};
  for (const auto& [kind, pairs] : cell.discarded) out["discarded"][std::string(spec::enum_name(kind))] = pairs.count;
  for (const auto& [side, wait] : cell.waits) {
    out["cores_while_waiting"][std::string(spec::enum_name(side))] = or_null(harness::cores_while_waiting(wait));
  }
  for (const auto& pair : cell.pairs_seen) {
    out["pairs"].push_back(
        {{"pair", pair.number}, {"step_ratio", or_null(pair.step_ratio)}, {"discarded", pair.discarded}});
  }
  for (const auto& metric : cell.metrics) out["metrics"].push_back(metric_json(metric));
  return out;
}

std::string ab_json(const harness::AbReport& report) {
  const auto& comparison = report.comparison;
  Json out{{"comparison", comparison.comparison_id},
           {"matrix", comparison.matrix},
           {"seed", comparison.seed},
           {"a", side_json(comparison.a)},
           {"b", side_json(comparison.b)},
           {"overall", spec::enum_name(harness::overall(harness::verdicts_of(report.cells)))},
           {"instructions_unavailable", report.instructions_unavailable},
           {"cells", Json::array()}};
  for (const auto& cell : report.cells) out["cells"].push_back(cell_json(cell));
  if (report.gate_refusals) out["gate"] = {{"outcome", gate_outcome(report)}, {"refusals", *report.gate_refusals}};
  return json_text(out, 2);
}

}  // namespace

std::string gate_outcome(const harness::AbReport& report) {
  if (harness::overall(harness::verdicts_of(report.cells)) == Verdict::regressed) return "failed";
  return report.gate_refusals && !report.gate_refusals->empty() ? "refused" : "passed";
}

Document ab_document(const harness::AbReport& report) {
  const auto& comparison = report.comparison;
  Document out;
  const auto verdict = harness::overall(harness::verdicts_of(report.cells));
  out.add(Heading{.text = "Comparison of " + comparison.matrix + " in pairs"});
  if (report.finished) {
    const auto judged = judged_pairs(report.cells);
    out.add(headline(verdict, judged));
    out.add(verdict_cards(judged));
  }
  out.add(List{{"A: " + side_text(comparison.a), "B: " + side_text(comparison.b),
                fmt::format("matrix {}, comparison {}, seed {}", comparison.matrix, comparison.comparison_id,
                            comparison.seed)}});
  auto charts = ab_charts(report.cells);
  if (!charts.empty()) out.add(std::move(charts.front()));
  Table table{.key = "cells", .columns = ab_columns(), .rows = {}};
  std::vector<std::string> words;
  for (const auto& cell : report.cells) {
    if (cell.whole) table.rows.push_back(whole_row(cell));
    for (const auto& metric : cell.metrics) table.rows.push_back(row(cell, metric));
    for (auto& word : words_about(cell)) words.push_back(std::move(word));
  }
  if (report.finished) {
    out.add(std::move(table));
    out.add(Note{"A is the median of its runs. B is A times the paired estimate, on which the verdict is based."});
  }
  for (std::size_t i = 1; i < charts.size(); ++i) out.add(std::move(charts[i]));
  add_list(out, std::move(words));
  add_discarded(out, report.cells);
  add_pairing(out, report.cells);
  if (!report.finished) {
    out.add(Paragraph{
        .text = "The comparison is still running, or was interrupted: these are the pairs so far, without a verdict.",
        .tone = Tone::doubtful});
    return out;
  }
  add_instructions(out, report);
  add_gate(out, report);
  out.json = [=] { return ab_json(report); };
  return out;
}

}  // namespace perfbench::reports
