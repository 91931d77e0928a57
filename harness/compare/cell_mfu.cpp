#include "harness/compare/cell_mfu.h"

#include <utility>
#include <vector>

#include "harness/metrics/mfu.h"
#include "harness/stats/statistics.h"

namespace perfbench::harness {
namespace {

// `utilisation` of an attempt's step time and peak: a fraction, or nothing.
template <class Utilisation>
std::optional<double> median_over_attempts(const CellRuns& cell, const HardwareByName& hardware,
                                           const Utilisation& utilisation) {
  std::vector<double> values;
  for (const auto* attempt : cell.trusted()) {
    const auto time_s = attempt->metrics.find("step_time_s");
    const auto peak = device_peak_flops_per_s(*attempt, hardware);
    if (time_s == attempt->metrics.end() || time_s->second <= 0 || !peak) continue;
    if (const std::optional<double> value = utilisation(*attempt, time_s->second, *peak)) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return median(std::move(values));
}

}  // namespace

std::optional<double> mfu_fraction(const CellRuns& cell, const HardwareByName& hardware,
                                   spec::FlopDefinition definition) {
  return median_over_attempts(cell, hardware, [&](const StoredAttempt& attempt, double step_time_s, double peak) {
    return std::optional(mfu_fraction(*attempt.run, step_time_s, peak, definition));
  });
}

std::optional<double> hfu_fraction(const CellRuns& cell, const HardwareByName& hardware) {
  return median_over_attempts(
      cell, hardware, [](const StoredAttempt& attempt, double step_time_s, double peak) -> std::optional<double> {
        if (!attempt.flops || attempt.flops->executed_flops() == 0) return std::nullopt;
        return static_cast<double>(attempt.flops->executed_flops()) / step_time_s / peak;
      });
}

}  // namespace perfbench::harness
