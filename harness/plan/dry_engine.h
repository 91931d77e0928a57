// Asks `perfbench-engine dry FILE...` for its counts: one process for many runs, and several processes at once if there
// are more.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/execute/launcher.h"
#include "workloads/spec/dry_counts.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

struct DryAnswer {
  std::size_t index = 0;     // index of the run
  spec::DryCounts counts;    // invalid if `failure` is set
  std::string failure = {};  // how the engine ended instead of answering
};

// Limits of one process, far above the needs of a count: a process beyond them is not one of our engines.
struct DryLimits {
  std::chrono::nanoseconds time = std::chrono::minutes(2);
  std::int64_t output_bytes = std::int64_t{256} << 20;
};

// For a single run while a reader waits for a page.
inline constexpr DryLimits kLimitsOfAPage{.time = std::chrono::seconds(5), .output_bytes = std::int64_t{64} << 20};

// Asks for the `most_groups` largest groups of tensors of each run or, if it is nullopt, for every tensor and all
// groups. Calls `take` once for each run, in the order of the index within a process, and never concurrently. If a
// process reaches a limit without a single report, the function stops and answers all remaining runs with that failure.
// Throws LaunchError when the engine cannot be started, Cancelled once a byte can be read from `cancel_fd` (-1: cannot
// be cancelled; a second byte skips the grace period).
void ask_dry_engine(const EngineProgram& engine, const std::vector<const spec::RunSpec*>& runs,
                    std::optional<std::size_t> most_groups, const std::function<void(DryAnswer)>& take,
                    int cancel_fd = -1, const DryLimits& limits = {});

}  // namespace perfbench::harness
