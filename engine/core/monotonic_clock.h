// The only clock for the times that the engine records: CLOCK_MONOTONIC, the same for all processes of a node.
#pragma once

#include <chrono>
#include <cstdint>

namespace perfbench::engine {

inline std::int64_t monotonic_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

}  // namespace perfbench::engine
