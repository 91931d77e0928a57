#include "harness/compare/device_peak.h"

namespace perfbench::harness {

std::optional<double> device_peak_flops_per_s(const StoredAttempt& attempt, const HardwareByName& hardware) {
  const auto known = hardware.find(attempt.run->hardware);
  const double peak = known != hardware.end() ? spec::mfu_peak_flops_per_s(known->second, attempt.run->precision)
                                              : attempt.peak_flops_per_s.value_or(0);
  if (peak <= 0) return std::nullopt;
  return peak;
}

}  // namespace perfbench::harness
