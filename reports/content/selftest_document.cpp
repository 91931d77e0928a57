#include "reports/content/selftest_document.h"

#include <fmt/core.h>

#include <algorithm>

#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::GoalRule;
using harness::SelftestKind;
using harness::SelftestResult;

const char* section_title(SelftestKind kind) {
  switch (kind) {
    case SelftestKind::aa:
      return "Paired decision and stored baselines: false verdicts when nothing changed (level 0.01)";
    case SelftestKind::equivalence:
      return "Paired decision: SAME although it is not (level 0.05)";
    case SelftestKind::power:
      return "Paired decision and stored baselines: power";
    case SelftestKind::false_alarms:
      return "Nightly screen: alarms of unchanged series";
    case SelftestKind::delay:
      return "Nightly screen: delay (nights; sigma is the between-night standard deviation), and shares found";
  }
  return "";
}

std::string goal_text(const SelftestResult& result) {
  if (!result.goal) return "";
  switch (result.goal->rule) {
    case GoalRule::value_at_least:
      return ">= " + format_number(result.goal->limit);
    case GoalRule::value_at_most:
      return "<= " + format_number(result.goal->limit);
    case GoalRule::high_at_most:
      return "upper end <= " + format_number(result.goal->limit);
  }
  return "";
}

std::string met_text(const SelftestResult& result) {
  const auto met = goal_met(result);
  return !met ? "" : *met ? "yes" : "no";
}

Cell rate_cell(double value) {
  return {format_number(value), value};
}

// For programs, the parts of an interval and of a goal are separate columns.
Table result_table(Audience audience) {
  if (audience == Audience::people) {
    return {.key = "results",
            .columns = {{.title = "noise", .key = "noise", .audience = audience},
                        {.title = "measure", .key = "measure", .audience = audience},
                        {.title = "value", .key = "value", .align = Align::right, .audience = audience},
                        {.title = "95 % interval", .key = "interval", .audience = audience},
                        {.title = "goal", .key = "goal", .audience = audience},
                        {.title = "met", .key = "met", .audience = audience}},
            .rows = {}};
  }
  Table table{.key = "results", .columns = {}, .rows = {}};
  for (const auto* key : {"kind", "noise", "measure", "value", "low", "high", "goal_rule", "goal", "met"}) {
    table.columns.push_back({.title = key, .key = key, .audience = audience});
  }
  return table;
}

Row row_for_people(const SelftestResult& r) {
  const auto met = goal_met(r);
  const auto tone = !met ? Tone::plain : *met ? Tone::good : Tone::bad;
  return {.cells = {r.noise,
                    r.measure,
                    rate_cell(r.value),
                    format_number(r.low) + " to " + format_number(r.high),
                    goal_text(r),
                    {met_text(r), Value(), tone}}};
}

Row row_for_programs(const SelftestResult& r) {
  Cell rule;
  Cell goal;
  if (r.goal) {
    rule = std::string(spec::enum_name(r.goal->rule));
    goal = rate_cell(r.goal->limit);
  }
  return {.cells = {std::string(spec::enum_name(r.kind)), r.noise, r.measure, rate_cell(r.value), rate_cell(r.low),
                    rate_cell(r.high), rule, goal, met_text(r)}};
}

}  // namespace

Document selftest_document(const std::string& title, const std::vector<SelftestResult>& results) {
  constexpr int kLevel = 3;
  Document out;
  out.add(Paragraph{.text = title});
  for (const auto& [kind, name] : spec::EnumNames<SelftestKind>::kNames) {
    auto table = result_table(Audience::people);
    for (const auto& r : results) {
      if (r.kind == kind) table.rows.push_back(row_for_people(r));
    }
    if (table.rows.empty()) continue;
    out.add(Heading{.level = kLevel, .text = section_title(kind)});
    out.add(std::move(table));
  }
  auto all = result_table(Audience::programs);
  for (const auto& r : results) all.rows.push_back(row_for_programs(r));
  out.add(std::move(all));
  const auto missed =
      std::count_if(results.begin(), results.end(), [](const SelftestResult& r) { return goal_met(r) == false; });
  const auto goals =
      std::count_if(results.begin(), results.end(), [](const SelftestResult& r) { return r.goal.has_value(); });
  out.add(Paragraph{.text = fmt::format("{} of {} goals met.", goals - missed, goals)});
  return out;
}

}  // namespace perfbench::reports
