#include "harness/records/executed_pair.h"

namespace perfbench::harness {

WatchedWait& WatchedWait::operator+=(const WatchedWait& other) {
  cpu_s += other.cpu_s;
  wall_s += other.wall_s;
  return *this;
}

std::optional<double> cores_while_waiting(const WatchedWait& wait) {
  if (wait.wall_s < kFewestWatchedSeconds) return std::nullopt;
  return wait.cpu_s / wait.wall_s;
}

}  // namespace perfbench::harness
