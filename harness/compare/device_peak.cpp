#include "harness/compare/device_peak.h"

#include <algorithm>

#include "workloads/spec/run_spec.h"

namespace perfbench::harness {

std::string hardware_name(const spec::RunSpec& run, const std::map<std::string, std::string>& environment) {
  if (run.hardware != "host" || run.device != spec::Device::cuda) return run.hardware;
  const auto gpu = environment.find("gpu_model");
  return gpu == environment.end() || gpu->second.empty() ? run.hardware : gpu->second;
}

std::string other_gpu(const spec::RunSpec& run, const std::map<std::string, std::string>& environment,
                      const HardwareByName& hardware) {
  const auto named = hardware.find(run.hardware);
  const auto gpu = environment.find("gpu_model");
  if (run.device != spec::Device::cuda || named == hardware.end() || gpu == environment.end()) return {};
  const auto& aliases = named->second.aliases;
  const bool is_named =
      gpu->second == named->second.title || std::find(aliases.begin(), aliases.end(), gpu->second) != aliases.end();
  return is_named ? "" : gpu->second;
}

namespace {

HardwareByName::const_iterator hardware_of(const StoredAttempt& attempt, const HardwareByName& hardware) {
  static const std::map<std::string, std::string> kUnknown;
  return hardware.find(hardware_name(*attempt.run, attempt.environment ? attempt.environment->facts : kUnknown));
}

}  // namespace

const ClassPeak* measured_peak(const StoredAttempt& attempt, const HardwareByName& hardware) {
  const bool counts = attempt.run->device == spec::Device::cpu && hardware_of(attempt, hardware) == hardware.end();
  return counts ? attempt.cpu_peak.get() : nullptr;
}

std::optional<double> device_peak_flops_per_s(const StoredAttempt& attempt, const HardwareByName& hardware) {
  if (const auto* measured = measured_peak(attempt, hardware)) return measured->flops_per_s;
  const auto known = hardware_of(attempt, hardware);
  const double peak = known == hardware.end() ? 0 : spec::mfu_peak_flops_per_s(known->second, attempt.run->precision);
  if (peak <= 0) return std::nullopt;
  return peak;
}

}  // namespace perfbench::harness
