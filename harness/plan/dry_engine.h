// Asks `perfbench-engine dry FILE...` for its counts: one process for many runs, several at once when there are more.
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
  std::size_t index = 0;     // into the runs that were asked about
  spec::DryCounts counts;    // meaningless when `failure` is set
  std::string failure = {};  // how the engine ended instead of answering
};

// Of one process, far above what a count takes: what is beyond is no engine of ours.
struct DryLimits {
  std::chrono::nanoseconds time = std::chrono::minutes(2);
  std::int64_t output_bytes = std::int64_t{256} << 20;
};

// With the `most_groups` largest groups of tensors of each run, or nothing: with every tensor, and all groups. Calls
// `take` once for each run, in order of index within a process, never two at a time. A process that reaches a limit
// without a single report ends the asking: what has no answer yet is answered with that failure. Throws LaunchError
// when the engine cannot be started, Cancelled once a byte can be read from `cancel_fd` (-1: none; a second byte skips
// the grace).
void ask_dry_engine(const EngineProgram& engine, const std::vector<const spec::RunSpec*>& runs,
                    std::optional<std::size_t> most_groups, const std::function<void(DryAnswer)>& take,
                    int cancel_fd = -1, const DryLimits& limits = {});

}  // namespace perfbench::harness
