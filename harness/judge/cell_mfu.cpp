#include "harness/judge/cell_mfu.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "harness/evidence/run_metrics.h"
#include "harness/stats/statistics.h"
#include "workloads/spec/run_program.h"
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

namespace {

// Whether the run has everything that MFU needs.
bool says_mfu(const spec::RunSpec& run) {
  constexpr std::array kNeeded{"model", "mesh", "hardware", "precision"};
  return spec::says_tokens(run) &&
         std::all_of(kNeeded.begin(), kNeeded.end(), [&run](const char* field) { return spec::says(run, field); });
}

}  // namespace

const ClassPeak* measured_peak(const StoredAttempt& attempt, const HardwareByName& hardware) {
  if (!says_mfu(*attempt.run)) return nullptr;
  const bool counts = attempt.run->device == spec::Device::cpu && hardware_of(attempt, hardware) == hardware.end();
  return counts ? attempt.cpu_peak.get() : nullptr;
}

std::optional<double> device_peak_flops_per_s(const StoredAttempt& attempt, const HardwareByName& hardware) {
  if (!says_mfu(*attempt.run)) return std::nullopt;
  if (const auto* measured = measured_peak(attempt, hardware)) return measured->flops_per_s;
  const auto known = hardware_of(attempt, hardware);
  const double peak = known == hardware.end() ? 0 : spec::mfu_peak_flops_per_s(known->second, attempt.run->precision);
  if (peak <= 0) return std::nullopt;
  return peak;
}

namespace {

// `utilisation` of an attempt with the medians of mean step time and peak over all attempts. Like every rate, it
// follows from the mean step time that is shown next to it.
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
