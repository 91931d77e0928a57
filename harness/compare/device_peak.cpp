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

std::optional<double> device_peak_flops_per_s(const StoredAttempt& attempt, const HardwareByName& hardware) {
  const auto& run = *attempt.run;
  const auto name =
      hardware_name(run, attempt.environment ? attempt.environment->facts : std::map<std::string, std::string>{});
  const auto known = hardware.find(name);
  // What the engine measures is the rate of the CPU.
  const double measured = run.device == spec::Device::cpu ? attempt.peak_flops_per_s.value_or(0) : 0;
  const double peak = known != hardware.end() ? spec::mfu_peak_flops_per_s(known->second, run.precision) : measured;
  if (peak <= 0) return std::nullopt;
  return peak;
}

}  // namespace perfbench::harness
