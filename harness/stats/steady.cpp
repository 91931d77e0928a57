#include "harness/stats/steady.h"

#include <algorithm>

#include "harness/stats/statistics.h"

namespace perfbench::harness {

SteadySteps find_steady_steps(const std::vector<double>& step_s) {
  constexpr std::size_t kShortest = 4;
  const auto n = step_s.size();
  if (n < kShortest) {
    const std::size_t first = n > 1 ? 1 : 0;
    return {.first = first, .count = n - first, .steadiness = Steadiness::short_run};
  }
  const auto half = n / 2;  // index at which the second half starts
  const std::vector<double> tail(step_s.begin() + static_cast<std::ptrdiff_t>(half), step_s.end());
  const double m = median(tail);
  const double limit = m + std::max(4.0 * robust_deviation(tail), 0.05 * m);
  std::size_t first = 1;
  while (first < half && step_s[first] > limit) ++first;
  // With a first half of only one step that may be dropped (n = 4 or 5: half = 2), only step 1 was examined.
  const bool used_up = first == half && step_s[half - 1] > limit;
  return {.first = first, .count = n - first, .steadiness = used_up ? Steadiness::still_changing : Steadiness::steady};
}

double most_probe_spread(spec::Device device) {
  constexpr double kOfProcessor = 0.10;
  constexpr double kOfGpu = 0.25;
  return device == spec::Device::cuda ? kOfGpu : kOfProcessor;
}

std::optional<double> probe_spread_fraction(const std::vector<double>& probe_s) {
  constexpr std::size_t kFewest = 3;
  if (probe_s.size() < kFewest) return std::nullopt;
  const double middle = median(probe_s);
  if (middle <= 0) return std::nullopt;  // the engine recorded no probe
  return (quantile(probe_s, 0.9) - quantile(probe_s, 0.1)) / middle;
}

}  // namespace perfbench::harness
