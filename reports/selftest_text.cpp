#include "reports/selftest_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "reports/format/csv_field.h"
#include "reports/format/markdown_table.h"
#include "reports/format/number.h"

namespace perfbench::reports {
namespace {

using harness::GoalRule;
using harness::SelftestKind;
using harness::SelftestResult;

const char* title(SelftestKind kind) {
  switch (kind) {
    case SelftestKind::aa:
      return "Paired decision and stored baselines: false verdicts when nothing changed (level 0.01)";
    case SelftestKind::equivalence:
      return "Paired decision: SAME where it is not (level 0.05)";
    case SelftestKind::power:
      return "Paired decision and stored baselines: power";
    case SelftestKind::false_alarms:
      return "Nightly screen: alarms of unchanged series";
    case SelftestKind::delay:
      return "Nightly screen: delay (nights; sigma is the between-night standard deviation)";
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

}  // namespace

Markdown selftest_markdown(const std::vector<SelftestResult>& results) {
  Markdown out;
  for (const auto& [kind, name] : spec::EnumNames<SelftestKind>::kNames) {
    std::vector<MarkdownRow> rows{{"noise", "measure", "value", "95 % interval", "goal", "met"}};
    for (const auto& r : results) {
      if (r.kind != kind) continue;
      rows.push_back({r.noise, r.measure, format_number(r.value), format_number(r.low) + " to " + format_number(r.high),
                      goal_text(r), met_text(r)});
    }
    if (rows.size() > 1)
      out += (out.empty() ? Markdown() : Markdown::format("\n")) +
             Markdown::format("### {}\n\n{}", title(kind), markdown_table(rows));
  }
  const auto missed =
      std::count_if(results.begin(), results.end(), [](const SelftestResult& r) { return goal_met(r) == false; });
  const auto goals =
      std::count_if(results.begin(), results.end(), [](const SelftestResult& r) { return r.goal.has_value(); });
  return out + Markdown::format("\n{} of {} goals met.\n", goals - missed, goals);
}

std::string selftest_csv(const std::vector<SelftestResult>& results) {
  std::string out = "kind,noise,measure,value,low,high,goal_rule,goal,met\n";
  for (const auto& r : results) {
    out += fmt::format("{},{},{},{:.9g},{:.9g},{:.9g},{},{},{}\n", spec::enum_name(r.kind), csv_field(r.noise),
                       csv_field(r.measure), r.value, r.low, r.high, r.goal ? spec::enum_name(r.goal->rule) : "",
                       r.goal ? fmt::format("{}", r.goal->limit) : "", met_text(r));
  }
  return out;
}

}  // namespace perfbench::reports
