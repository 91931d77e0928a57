#include "harness/ab/metric_rule.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "harness/compare/margin.h"
#include "harness/input_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

MetricRule rule_of(const spec::MetricSpec& metric, MetricNoise noise) {
  return {std::string(metric.tag), metric.direction, usual_margin(metric).value_or(MetricRule{}.margin_fraction),
          noise};
}

MetricRule rule_for(const std::string& name) {
  const auto usual = default_metric_rules();
  const auto known = std::find_if(usual.begin(), usual.end(), [&](const auto& rule) { return rule.metric == name; });
  if (known != usual.end()) {
    auto asked_for = *known;
    asked_for.of_some_runs = false;
    return asked_for;
  }
  const auto metric = spec::find_metric(name);
  if (!metric) {
    std::vector<std::string> names;
    for (const auto& entry : spec::kMetricCatalog) names.emplace_back(entry.tag);
    throw InputError("[compare] unknown metric '" + name + "'" + spec::suggestion(name, names));
  }
  if (metric->direction == spec::Direction::neutral) {
    throw InputError("[compare] '" + name + "' is neither better nor worse for being larger: it cannot be judged");
  }
  const bool exact = name == "dropped_fraction" || name == "expert_load";
  return rule_of(*metric, exact ? MetricNoise::exact : MetricNoise::measured);
}

void apply_margin(const std::string& words, std::vector<MetricRule>& rules) {
  const auto equals = words.find('=');
  const auto name = words.substr(0, equals);
  const auto text = equals == std::string::npos ? std::string() : words.substr(equals + 1);
  double margin = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), margin);
  if (error != std::errc() || end != text.data() + text.size() || !(margin > 0 && margin < 1)) {
    throw InputError("[compare] --margin " + words + ": the form is METRIC=FRACTION, as in step_time_s=0.03 for 3 %");
  }
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const auto& r) { return r.metric == name; });
  if (rule == rules.end()) {
    std::vector<std::string> judged;
    for (const auto& r : rules) judged.push_back(r.metric);
    throw InputError("[compare] --margin " + words + ": '" + name + "' is not among the metrics that are judged" +
                     spec::suggestion(name, judged));
  }
  rule->margin_fraction = margin;
}

}  // namespace

std::vector<MetricRule> default_metric_rules() {
  const auto of = [](const char* metric, MetricNoise noise) { return rule_of(*spec::find_metric(metric), noise); };
  std::vector<MetricRule> rules{
      of("step_time_s", MetricNoise::measured),    of("tokens_per_s", MetricNoise::measured),
      of("peak_memory_bytes", MetricNoise::exact), of("resident_bytes", MetricNoise::measured),
      of("startup_time_s", MetricNoise::measured), of("final_loss", MetricNoise::exact)};
  for (const auto* metric : {"eval_accuracy", "eval_perplexity"}) {
    rules.push_back(of(metric, MetricNoise::exact));
    rules.back().of_some_runs = true;
  }
  return rules;
}

std::vector<MetricRule> metric_rules(const std::vector<std::string>& names, const std::vector<std::string>& margins) {
  std::vector<MetricRule> rules;
  for (const auto& name : names) {
    const bool twice = std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule.metric == name; });
    if (!twice) rules.push_back(rule_for(name));
  }
  if (rules.empty()) rules = default_metric_rules();
  for (const auto& words : margins) apply_margin(words, rules);
  return rules;
}

}  // namespace perfbench::harness
