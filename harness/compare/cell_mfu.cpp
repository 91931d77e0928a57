#include "harness/compare/cell_mfu.h"

#include <utility>
#include <vector>

#include "harness/metrics/mfu.h"
#include "harness/stats/statistics.h"

namespace perfbench::harness {
namespace {

// `utilisation` of an attempt with the medians over all of the mean step time and the peak: as every rate it follows
// from the mean step time that is shown beside it.
template <class Utilisation>
std::optional<double> of_the_median(const CellRuns& cell, const HardwareByName& hardware,
                                    const Utilisation& utilisation) {
  const StoredAttempt* example = nullptr;
  std::vector<double> times_s;
  std::vector<double> peaks;
  for (const auto* attempt : cell.trusted()) {
    const auto time_s = mean_step_time_s(*attempt);
    const auto peak = device_peak_flops_per_s(*attempt, hardware);
    if (!time_s || *time_s <= 0 || !peak) continue;
    times_s.push_back(*time_s);
    peaks.push_back(*peak);
    example = attempt;
  }
  if (example == nullptr) return std::nullopt;
  return utilisation(*example, median(std::move(times_s)), median(std::move(peaks)));
}

std::optional<double> hfu_of(const StoredAttempt& attempt, double step_time_s, double peak) {
  if (!attempt.flops || attempt.flops->executed_flops() == 0) return std::nullopt;
  return static_cast<double>(attempt.flops->executed_flops()) / step_time_s / peak;
}

}  // namespace

std::optional<double> mfu_fraction(const CellRuns& cell, const HardwareByName& hardware,
                                   spec::FlopDefinition definition) {
  return of_the_median(cell, hardware, [&](const StoredAttempt& attempt, double step_time_s, double peak) {
    return std::optional(mfu_fraction(*attempt.run, step_time_s, peak, definition));
  });
}

std::optional<double> hfu_fraction(const CellRuns& cell, const HardwareByName& hardware) {
  return of_the_median(cell, hardware, hfu_of);
}

void add_computed_metrics(StoredAttempt& attempt, const HardwareByName& hardware) {
  const auto time_s = mean_step_time_s(attempt);
  if (!time_s || *time_s <= 0) return;
  const double step_s = *time_s;
  if (const auto days = estimated_days(*attempt.run, step_s)) attempt.metrics["estimated_days"] = *days;
  const auto peak = device_peak_flops_per_s(attempt, hardware);
  if (!peak) return;
  attempt.metrics["mfu_fraction"] = mfu_fraction(*attempt.run, step_s, *peak, spec::FlopDefinition::causal);
  if (const auto hfu = hfu_of(attempt, step_s, *peak)) attempt.metrics["hfu_fraction"] = *hfu;
}

void add_computed_metrics(std::vector<CellRuns>& cells, const HardwareByName& hardware) {
  for (auto& cell : cells) {
    for (auto& attempt : cell.attempts) add_computed_metrics(attempt, hardware);
  }
}

}  // namespace perfbench::harness
