// The telemetry of a GPU, sampled beside the steps: one GpuSample a line in gpu.rank<R>.jsonl. A clock that a hot or
// power-starved GPU lowered explains a slow step better than any code change, so a run with such samples is quarantined
// (gpu_trouble).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

// -1 stands for a number that the driver does not report.
struct GpuSample {
  static constexpr std::int64_t kVersion = 1;
  std::int64_t version = kVersion;
  std::int64_t rank = 0;
  std::int64_t step = 0;   // under way when the sample was taken
  std::int64_t at_ns = 0;  // monotonic, of the rank's node
  std::int64_t sm_clock_mhz = -1;
  std::int64_t memory_clock_mhz = -1;
  double power_w = -1;
  std::int64_t temperature_celsius = -1;
  // Why the clocks are below the requested ones.
  bool throttled_by_heat = false;
  bool throttled_by_hardware = false;   // slowdown or power brake signalled to the board
  bool throttled_by_power_cap = false;  // the normal state of large products at the board's limit
  std::int64_t ecc_errors = -1;         // uncorrected, since the driver was loaded
  std::int64_t processes = -1;          // number that compute on this GPU, including this rank

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"version", "version of this record", 1, 1}, self.version);
    f(Field{"rank", "rank whose GPU it is", 0}, self.rank);
    f(Field{"step", "step that was under way", 0}, self.step);
    f(Field{"at_ns", "monotonic time", 0}, self.at_ns);
    f(Field{"sm_clock_mhz", "clock of the multiprocessors"}, self.sm_clock_mhz);
    f(Field{"memory_clock_mhz", "clock of the memory"}, self.memory_clock_mhz);
    f(Field{"power_w", "power draw of the board"}, self.power_w);
    f(Field{"temperature_celsius", "temperature of the chip"}, self.temperature_celsius);
    f(Field{"throttled_by_heat", "clocks lowered for temperature"}, self.throttled_by_heat);
    f(Field{"throttled_by_hardware", "clocks lowered by the board"}, self.throttled_by_hardware);
    f(Field{"throttled_by_power_cap", "clocks limited by the power cap"}, self.throttled_by_power_cap);
    f(Field{"ecc_errors", "uncorrected memory errors"}, self.ecc_errors);
    f(Field{"processes", "processes that compute on the GPU"}, self.processes);
  }
};

// Why the times of a run cannot be trusted, in one line with the counts; absent if they can. A power cap alone is not a
// reason.
std::optional<std::string> gpu_trouble(const std::vector<GpuSample>& samples);

}  // namespace perfbench::spec
