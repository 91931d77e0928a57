// The metrics of a run that follow from the times of its steps alone, whatever program took the steps.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/stats/steady.h"

namespace perfbench::harness {

struct MetricValue {
  std::string metric;  // its name in the metric catalog
  double value = 0;
};

// Five steps lie above the 90th percentile of 50. With fewer, one step more or less decides it.
inline constexpr std::size_t kFewestStepsOfAPercentile = 50;

struct StepStatistics {
  SteadySteps steady;   // of the given times
  double median_s = 0;  // of the steady ones
  double mean_s = 0;
};

// Appends step_time_s, step_time_mean_s, the percentiles if there are enough steady steps, the numbers of warm-up and
// steady steps, step_time_trend_fraction and still_changing. `times_s` must not be empty. `steady` says which of them
// count: those of find_steady_steps(), or all if the program leaves its own warm-up out.
StepStatistics append_step_statistics(const std::vector<double>& times_s, const SteadySteps& steady,
                                      std::vector<MetricValue>& out);

}  // namespace perfbench::harness
