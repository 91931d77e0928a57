#include "reports/ab_report.h"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "harness/ab/git_history.h"
#include "reports/attribution_text.h"
#include "reports/format/json_text.h"
#include "reports/format/number.h"
#include "reports/format/quantity.h"
#include "reports/or_null.h"

namespace perfbench::reports {
namespace {

using harness::AbSide;
using harness::CellVerdict;
using harness::Decision;
using harness::MetricVerdict;
using harness::Verdict;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestShown = 3;

std::string side_text(const AbSide& side) {
  if (side.kind == harness::SideKind::revision) {
    return fmt::format("{} ({})", side.asked, harness::short_commit(side.commit));
  }
  return side.asked;
}

std::string amount(const std::optional<double>& value, const std::string& metric) {
  if (!value) return kNothing;
  const auto known = spec::find_metric(metric);
  if (known && known->unit == "bytes") return human_bytes(static_cast<std::int64_t>(std::llround(*value)));
  return format_number(value);
}

std::string interval(const Decision& decision) {
  if (!decision.ratio_95) return kNothing;
  return fmt::format("{} to {}", format_percent_change(decision.ratio_95->low),
                     format_percent_change(decision.ratio_95->high));
}

Markdown row(const CellVerdict& cell, const MetricVerdict& metric) {
  const auto& decision = metric.decided.decision;
  return Markdown::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", cell.label, metric.rule.metric,
                          spec::enum_name(decision.verdict), amount(metric.a_median, metric.rule.metric),
                          amount(metric.b_median, metric.rule.metric),
                          decision.ratio ? format_percent_change(*decision.ratio) : kNothing, interval(decision),
                          decision.detectable_fraction ? format_percent(*decision.detectable_fraction) : kNothing,
                          metric.pairs);
}

Markdown whole_row(const CellVerdict& cell) {
  return Markdown::format("| {} | (the cell) | {} | - | - | - | - | - | {} |\n", cell.label,
                          spec::enum_name(cell.whole->verdict), cell.pairs_used);
}

// A cell without a pair that counts says so once, and not with each metric.
bool needs_words(const CellVerdict& cell, const Decision& decision) {
  if (decision.reason == harness::VerdictReason::no_measurement && cell.pairs_used == 0) return false;
  return decision.verdict != Verdict::same;
}

Markdown words_about(const CellVerdict& cell) {
  Markdown out;
  if (cell.whole) out += Markdown::format("- {}: {}\n", cell.label, cell.whole->detail);
  for (const auto& metric : cell.metrics) {
    const auto& decision = metric.decided.decision;
    if (!needs_words(cell, decision)) continue;
    out += Markdown::format("- {} {}: {} ({}: {})\n", cell.label, metric.rule.metric, spec::enum_name(decision.verdict),
                            spec::enum_name(decision.reason), decision.detail);
  }
  if (cell.attribution) {
    for (const auto& line : largest_differences(*cell.attribution, kLargestShown)) {
      out += Markdown::format("- {} where: {}\n", cell.label, line);
    }
  }
  for (const auto& note : cell.notes) out += Markdown::format("- {}: {}\n", cell.label, note);
  return out;
}

Markdown discarded_text(const std::vector<CellVerdict>& cells) {
  std::size_t used = 0;
  std::size_t discarded = 0;
  Markdown lines;
  for (const auto& cell : cells) {
    used += cell.pairs_used;
    discarded += cell.pairs_discarded;
    for (const auto& [kind, pairs] : cell.discarded) {
      lines +=
          Markdown::format("- {}: {} {}, the first: {}\n", cell.label, pairs.count, spec::enum_name(kind), pairs.first);
    }
  }
  return Markdown::format("{} pairs used, {} discarded whole{}\n{}", used, discarded, discarded == 0 ? "" : ":", lines);
}

// Which way the runs of a pair shared the machine: what a difference means depends on it.
Markdown pairing_text(const std::vector<CellVerdict>& cells) {
  std::size_t in_turns = 0;
  std::map<std::string, std::size_t> apart;  // by reason
  for (const auto& cell : cells) {
    if (cell.in_turns) ++in_turns;
    if (!cell.apart_because.empty()) ++apart[cell.apart_because];
  }
  Markdown out;
  if (in_turns > 0) {
    out += Markdown::format(
        "in turns, a step of A and a step of B, each with the caches as the other left them: the pairs of {} of {} "
        "cells; their step times are held together turn by turn, and twice the steps a pair find what twice the pairs "
        "would\n",
        in_turns, cells.size());
  }
  for (const auto& [why, count] : apart) {
    out += Markdown::format("one run after the other: the pairs of {} of {} cells: {}\n", count, cells.size(), why);
  }
  return out;
}

Markdown instructions_text(const harness::AbReport& report) {
  if (!report.instructions_unavailable.empty()) {
    return Markdown::format("instructions: not available here ({})\n", report.instructions_unavailable);
  }
  auto out = Markdown::format("instructions (user mode, B / A, median of pairs):\n");
  for (const auto& cell : report.cells) {
    out += Markdown::format("- {}: {}\n", cell.label,
                            cell.instructions_ratio ? fmt::format("{:.6f}", *cell.instructions_ratio) : kNothing);
  }
  return out;
}

Markdown gate_text(const harness::AbReport& report) {
  if (!report.gate_refusals) return {};
  auto out = Markdown::format("\ngate: {}\n", gate_outcome(report));
  for (const auto& refusal : *report.gate_refusals) out += Markdown::format("- {}\n", refusal);
  return out;
}

Json side_json(const AbSide& side) {
  return {{"asked", side.asked},
          {"kind", spec::enum_name(side.kind)},
          {"commit", side.commit},
          {"engine", side.engine.file.string()},
          {"set", side.set}};
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
           {"instructions_ratio", or_null(cell.instructions_ratio)},
           {"whole", cell.whole ? decision_json(*cell.whole) : Json()},
           {"metrics", Json::array()},
           {"attribution", cell.attribution ? Json::parse(attribution_json(*cell.attribution)) : Json()},
           {"notes", cell.notes}};
  for (const auto& [kind, pairs] : cell.discarded) out["discarded"][std::string(spec::enum_name(kind))] = pairs.count;
  for (const auto& metric : cell.metrics) out["metrics"].push_back(metric_json(metric));
  return out;
}

}  // namespace

std::string gate_outcome(const harness::AbReport& report) {
  if (harness::overall(harness::verdicts_of(report.cells)) == Verdict::regressed) return "failed";
  return report.gate_refusals && !report.gate_refusals->empty() ? "refused" : "passed";
}

Markdown ab_markdown(const harness::AbReport& report) {
  const auto& comparison = report.comparison;
  auto out = Markdown::format("A: {}\nB: {}\nmatrix {}, comparison {}, seed {}\n\n", side_text(comparison.a),
                              side_text(comparison.b), comparison.matrix, comparison.comparison_id, comparison.seed);
  out +=
      Markdown::format("| Cell | Metric | Verdict | A | B | B against A | 95 % interval | Detectable from | Pairs |\n");
  out += Markdown::format("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  Markdown words;
  for (const auto& cell : report.cells) {
    if (cell.whole) out += whole_row(cell);
    for (const auto& metric : cell.metrics) out += row(cell, metric);
    words += words_about(cell);
  }
  if (!words.empty()) out += Markdown::format("\n{}", words);
  return out + Markdown::format("\n") + discarded_text(report.cells) + pairing_text(report.cells) +
         instructions_text(report) + gate_text(report) +
         Markdown::format("\n{}\n", spec::enum_name(harness::overall(harness::verdicts_of(report.cells))));
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

}  // namespace perfbench::reports
