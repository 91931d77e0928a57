#include "harness/pairs/waiting_load.h"

#include "harness/execute/process_tree.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kWaitsPerWalk = 16;  // the tree of processes rarely changes

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void WaitingLoad::begin() {
  const pid_t root = root_;
  if (root == 0) return;
  if (walks_due_ == 0) {
    processes_ = descendants(root);
    walks_due_ = kWaitsPerWalk;
  }
  --walks_due_;
  before_ = cpu_times(processes_);
  since_ = std::chrono::steady_clock::now();
  watching_ = true;
}

void WaitingLoad::end() {
  if (!watching_) return;
  watching_ = false;
  watched_.wall_s += seconds(std::chrono::steady_clock::now() - since_);
  for (const auto& [process, used] : cpu_times(processes_)) {
    const auto then = before_.find(process);
    if (then != before_.end()) watched_.cpu_s += seconds(used - then->second);
  }
}

}  // namespace perfbench::harness
