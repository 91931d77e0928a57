// Which metrics a comparison judges, and how large a difference has to be to matter.
#pragma once

#include <string>
#include <vector>

#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

// measured: every process run gives another value, a test decides. exact: the same work gives the same value, so where
// each side repeats its own value the two are held against each other without a test.
enum class MetricNoise { measured, exact };

struct MetricRule {
  std::string metric;
  spec::Direction direction = spec::Direction::lower_is_better;
  double margin_fraction = 0.02;  // differences below it do not matter
  MetricNoise noise = MetricNoise::measured;
  bool of_some_runs = false;  // one that no run of a cell has is not undecided
};

// Speed, memory, start-up and loss, and of runs that evaluate what that found: what a gate holds together.
//   step_time_s 2 %, tokens_per_s 2 %, peak_memory_bytes 1 % (exact), resident_bytes 1 %, startup_time_s 10 %,
//   final_loss 0.2 % (exact): rounding in another order moves the loss of a short run by far less;
//   eval_accuracy 0.5 % (exact), eval_perplexity 0.5 % (exact).
std::vector<MetricRule> default_metric_rules();

// `names`: keep these only, empty: all of the default ones; other metrics of the catalog come with a margin of 2 %.
// `margins`: "metric=0.03". Throws InputError for an unknown or neutral metric, and a margin outside (0, 1).
std::vector<MetricRule> metric_rules(const std::vector<std::string>& names, const std::vector<std::string>& margins);

}  // namespace perfbench::harness
