// Which metrics a comparison judges, and how large a difference has to be to matter.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

struct MetricRule {
  std::string metric;
  spec::Direction direction = spec::Direction::lower_is_better;  // not neutral
  double margin_fraction = 0.02;                                 // differences below it do not matter
  // measured: a test decides. counted, exact: where each side repeats its own value, no test is needed.
  spec::MetricNoise noise = spec::MetricNoise::measured;
  bool of_some_runs = false;  // one that no run of a cell has is not undecided
};

// Margin of a metric: 2 % of a time, 5 % of the mean step and the rates that are made of it (one long step in a hundred
// moves them), 10 % of the start-up (files, caches), 1 % of memory, 0.2 % of the loss (rounding in another order moves
// that of a short run by far less), 0.5 % of what an evaluation finds, 2 % of others.
// Throws InputError for an unknown or neutral metric, such as warmup_steps.
MetricRule metric_rule(const std::string& metric);

// Speed with and without stalls, memory, start-up and loss, and of runs that evaluate what that found: what a gate
// holds together.
inline constexpr std::array kGateMetrics{"step_time_s", "step_time_mean_s", "peak_memory_bytes", "startup_time_s",
                                         "final_loss",  "eval_accuracy",    "eval_perplexity"};

// What pairs are judged by unless told otherwise: those of a gate, and resident_bytes.
std::vector<MetricRule> default_metric_rules();

// `names`: keep these only, empty: all of the default ones.
// `margins`: "metric=0.03". Throws InputError for an unknown or neutral metric, and a margin outside (0, 1).
std::vector<MetricRule> metric_rules(const std::vector<std::string>& names, const std::vector<std::string>& margins);

}  // namespace perfbench::harness
