#include "harness/judge/program_rules.h"

#include <algorithm>

#include "harness/judge/screening.h"
#include "workloads/spec/metric_catalog.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {
namespace {

constexpr double kUsualMargin = 0.02;
// The resident set of an interpreter's processes differs by one or two per cent from start to start.
constexpr double kResidentMargin = 0.05;

bool has_rule(const std::vector<MetricRule>& rules, const std::string& metric) {
  return std::any_of(rules.begin(), rules.end(), [&](const MetricRule& rule) { return rule.metric == metric; });
}

}  // namespace

std::vector<MetricRule> program_rules(const spec::ProgramSpec& program) {
  auto rules = default_metric_rules();
  rules.push_back(metric_rule("printed_loss"));
  std::erase_if(rules, [](const MetricRule& rule) { return rule.metric == "startup_time_s"; });
  for (auto& rule : rules) {
    rule.of_some_runs = true;
    if (rule.metric == "resident_bytes") rule.margin_fraction = kResidentMargin;
  }
  for (const auto& [name, metric] : program.metrics) {
    if (has_rule(rules, name) || metric.better == spec::Better::neither) continue;
    rules.push_back({.metric = name,
                     .direction = metric.better == spec::Better::lower ? spec::Direction::lower_is_better
                                                                       : spec::Direction::higher_is_better,
                     .margin_fraction = metric.margin > 0 ? metric.margin : kUsualMargin});
  }
  const bool says_nothing = program.reader.empty() && program.metrics.empty() && program.files.empty();
  if (says_nothing) rules.push_back(metric_rule("wall_time_s"));
  return rules;
}

bool is_judged(const spec::RunSpec& run, const std::string& metric) {
  const auto known = spec::find_metric(metric);
  if (known) return known->direction != spec::Direction::neutral;
  return run.program != nullptr && has_rule(program_rules(run.program->spec), metric);
}

MetricRule rule_of(const spec::RunSpec& run, const std::string& metric) {
  if (run.program != nullptr) {
    for (auto& rule : program_rules(run.program->spec)) {
      if (rule.metric == metric) return rule;
    }
  }
  return metric_rule(metric);
}

std::vector<std::string> screened_metrics(const spec::ProgramSpec* program) {
  std::vector<std::string> out;
  const auto rules = program == nullptr ? std::vector<MetricRule>() : program_rules(*program);
  for (const auto& screened : kScreenedMetrics) {
    if (program == nullptr || has_rule(rules, screened.tag)) out.emplace_back(screened.tag);
  }
  const auto usual = default_metric_rules();
  for (const auto& rule : rules) {
    const bool is_declared = program->metrics.contains(rule.metric);
    const bool is_listed = std::find(out.begin(), out.end(), rule.metric) != out.end();
    if (!is_listed && (is_declared || !has_rule(usual, rule.metric))) out.push_back(rule.metric);
  }
  return out;
}

}  // namespace perfbench::harness
