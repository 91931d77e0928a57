#include "harness/stats/verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "harness/system/input_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

double usual_margin(const spec::MetricSpec& metric) {
  if (metric.tag == "startup_time_s") return 0.10;
  const bool moved_by_few_steps = metric.tag == "step_time_mean_s" || metric.tag == "step_time_p90_s";
  if (moved_by_few_steps || metric.unit == "1/s") return 0.05;
  if (metric.tag == "final_loss") return 0.002;
  if (metric.tag == "printed_loss") return 0.005;
  if (metric.tag == "eval_accuracy" || metric.tag == "eval_perplexity") return 0.005;
  return metric.unit == "bytes" ? 0.01 : 0.02;
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
    throw InputError("[compare] --margin " + words + ": '" + name + "' is not among the judged metrics" +
                     spec::suggestion(name, judged));
  }
  rule->margin_fraction = margin;
}

}  // namespace

std::vector<std::string> judged_metrics() {
  std::vector<std::string> out;
  for (const auto& metric : spec::kMetricCatalog) {
    if (metric.direction != spec::Direction::neutral) out.emplace_back(metric.tag);
  }
  return out;
}

MetricRule metric_rule(const std::string& name) {
  const auto metric = spec::find_metric(name);
  if (!metric) throw InputError("[compare] unknown metric '" + name + "'" + spec::suggestion(name, judged_metrics()));
  if (metric->direction == spec::Direction::neutral) {
    throw InputError("[compare] '" + name + "' has no better direction: it cannot be judged");
  }
  return {name, metric->direction, usual_margin(*metric), metric->noise};
}

std::vector<MetricRule> default_metric_rules() {
  std::vector<MetricRule> rules;
  for (const auto* metric : {"step_time_s", "step_time_mean_s", "step_time_p90_s", "peak_memory_bytes",
                             "resident_bytes", "startup_time_s", "final_loss", "eval_accuracy", "eval_perplexity"}) {
    rules.push_back(metric_rule(metric));
    auto& rule = rules.back();
    rule.of_some_runs = rule.metric.starts_with("eval_") || rule.metric == "step_time_p90_s";
  }
  return rules;
}

std::vector<MetricRule> metric_rules(const std::vector<std::string>& names, const std::vector<std::string>& margins) {
  std::vector<MetricRule> rules;
  for (const auto& name : names) {
    if (spec::follows_from_mean_step(name)) {
      throw InputError("[compare] pairs do not judge '" + name +
                       "': it follows from step_time_mean_s and differs in the same way; use step_time_mean_s");
    }
    const bool twice = std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule.metric == name; });
    if (!twice) rules.push_back(metric_rule(name));
  }
  if (rules.empty()) rules = default_metric_rules();
  return with_margins(std::move(rules), margins);
}

std::vector<MetricRule> with_margins(std::vector<MetricRule> rules, const std::vector<std::string>& margins) {
  for (const auto& words : margins) apply_margin(words, rules);
  return rules;
}

void conclude(Decision& decision, Verdict verdict, VerdictReason reason, std::string detail) {
  decision.verdict = verdict;
  decision.reason = reason;
  decision.detail = std::move(detail);
}

Verdict direction_verdict(double log_ratio, spec::Direction direction) {
  const bool worse = (log_ratio > 0) == (direction == spec::Direction::lower_is_better);
  return worse ? Verdict::regressed : Verdict::improved;
}

Verdict overall(const std::vector<Verdict>& verdicts) {
  for (const auto verdict : {Verdict::regressed, Verdict::inconclusive, Verdict::improved, Verdict::same}) {
    if (std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end()) return verdict;
  }
  return Verdict::inconclusive;
}

}  // namespace perfbench::harness
