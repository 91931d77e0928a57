#include "harness/compare/cell_mfu.h"

#include <utility>
#include <vector>

#include "harness/detect/mfu.h"
#include "harness/detect/statistics.h"

namespace perfbench::harness {

std::optional<double> mfu_fraction(const CellRuns& cell, const HardwareByName& hardware,
                                   spec::FlopDefinition definition) {
  std::vector<double> values;
  for (const auto* attempt : cell.trusted()) {
    const auto time_s = attempt->metrics.find("step_time_s");
    const auto peak = device_peak_flops_per_s(*attempt, hardware);
    if (time_s == attempt->metrics.end() || time_s->second <= 0 || !peak) continue;
    values.push_back(mfu_fraction(*attempt->run, time_s->second, *peak, definition));
  }
  if (values.empty()) return std::nullopt;
  return median(std::move(values));
}

}  // namespace perfbench::harness
