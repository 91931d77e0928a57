#include "harness/evidence/step_statistics.h"

#include <cstddef>
#include <numeric>

#include "harness/stats/statistics.h"
#include "harness/stats/trend.h"

namespace perfbench::harness {

StepStatistics append_step_statistics(const std::vector<double>& times_s, const SteadySteps& steady,
                                      std::vector<MetricValue>& out) {
  const std::vector<double> steady_s(times_s.begin() + static_cast<std::ptrdiff_t>(steady.first), times_s.end());
  const double sum_s = std::accumulate(steady_s.begin(), steady_s.end(), 0.0);
  const StepStatistics found{
      .steady = steady, .median_s = median(steady_s), .mean_s = sum_s / static_cast<double>(steady_s.size())};
  out.push_back({"step_time_s", found.median_s});
  out.push_back({"step_time_mean_s", found.mean_s});
  if (steady.count >= kFewestStepsOfAPercentile) {
    out.push_back({"step_time_p10_s", quantile(steady_s, 0.1)});
    out.push_back({"step_time_p90_s", quantile(steady_s, 0.9)});
  }
  out.push_back({"warmup_steps", static_cast<double>(steady.first)});
  out.push_back({"steady_steps", static_cast<double>(steady.count)});
  if (const auto trend = trend_fraction(steady_s)) out.push_back({"step_time_trend_fraction", *trend});
  out.push_back({"still_changing", steady.steadiness == Steadiness::still_changing ? 1.0 : 0.0});
  return found;
}

}  // namespace perfbench::harness
