#include "harness/judge/session_levels.h"

#include <cmath>
#include <cstdint>

namespace perfbench::harness {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;

}  // namespace

SessionLevels session_levels(const std::vector<SeriesHistory>& series) {
  SessionLevels out;
  for (const auto& one : series) {
    if (one.is_control) continue;  // uses another engine
    auto& levels = out[{one.matrix, one.run_id}];
    for (const auto& night : one.nights) {
      if (night.noisy) continue;
      levels.push_back({.sweep_id = night.night.sweep_id,
                        .day = night.started_s / kSecondsPerDay,
                        .machine = night.machine,
                        .log_level = std::log(night.value),
                        .runs = night.runs});
    }
  }
  return out;
}

}  // namespace perfbench::harness
