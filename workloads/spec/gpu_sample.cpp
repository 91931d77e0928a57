#include "workloads/spec/gpu_sample.h"

#include <algorithm>

namespace perfbench::spec {
namespace {

template <class Holds>
std::size_t count(const std::vector<GpuSample>& samples, const Holds& holds) {
  return static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), holds));
}

void add(std::string& text, const std::string& part) {
  text += (text.empty() ? "" : "; ") + part;
}

}  // namespace

std::optional<std::string> gpu_trouble(const std::vector<GpuSample>& samples) {
  const auto of_all = " of " + std::to_string(samples.size()) + " samples";
  std::string trouble;
  if (const auto hot = count(samples, [](const auto& s) { return s.throttled_by_heat; }); hot > 0) {
    const auto hottest = std::max_element(samples.begin(), samples.end(), [](const auto& a, const auto& b) {
      return a.temperature_celsius < b.temperature_celsius;
    });
    add(trouble, "the GPU lowered its clocks for heat in " + std::to_string(hot) + of_all + " (up to " +
                     std::to_string(hottest->temperature_celsius) + " degrees Celsius)");
  }
  if (const auto slowed = count(samples, [](const auto& s) { return s.throttled_by_hardware; }); slowed > 0) {
    add(trouble, "the board slowed the GPU down in " + std::to_string(slowed) + of_all);
  }
  if (const auto shared = count(samples, [](const auto& s) { return s.processes > 1; }); shared > 0) {
    add(trouble, "other processes computed on the GPU in " + std::to_string(shared) + of_all);
  }
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const auto& before = samples[i - 1];
    const auto& after = samples[i];
    if (before.rank != after.rank || before.ecc_errors < 0 || after.ecc_errors <= before.ecc_errors) continue;
    add(trouble, "uncorrected memory errors on the GPU during step " + std::to_string(after.step));
    break;
  }
  if (trouble.empty()) return std::nullopt;
  return trouble;
}

}  // namespace perfbench::spec
