// A clock that work turns and nothing else, for demonstrations that have to end the same way on a busy machine: an
// operation takes the time of its own FLOPs and bytes at fixed rates, whatever the cores were doing meanwhile. Nothing
// timed by it was measured; a run that has it says so by its arguments (faults.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/faults/run_clock.h"
#include "engine/faults/waiting_clock.h"
#include "engine/trace/trace_sink.h"

namespace perfbench::engine {

class WorkClock : public TraceSink, public RunClock, public WaitingClock {
 public:
  // `pace`: of all its times, 1 as the rates below say. A run's own, drawn once, is the noise between runs.
  explicit WorkClock(double pace) : pace_(pace) {}

  // What the operations so far took, in FLOPs; each operation's share is what was added since the one before.
  void set_flops(std::function<std::int64_t()> flops) { flops_ = std::move(flops); }
  // Where spans go, with times of this clock; null for nowhere.
  void set_inner(TraceSink* inner) { inner_ = inner; }

  std::int64_t now() override { return now_ns_; }
  std::int64_t wait_until(std::int64_t at_ns) override;
  std::int64_t startup_ns() override;
  std::int64_t probe_ns() override;

  void begin(TraceLane lane, const TraceSpan& span, std::int64_t) override;
  void end(TraceLane lane, std::int64_t) override;

 private:
  void work(std::int64_t bytes);

  const double pace_;
  std::function<std::int64_t()> flops_;
  TraceSink* inner_ = nullptr;
  std::int64_t flops_before_ = 0;
  std::vector<std::int64_t> open_;  // of the lane of the schedule: bytes of an operation, kNoWork of any other span
  std::atomic<std::int64_t> now_ns_ = 0;  // the communication lane looks at it from a thread of its own
};

}  // namespace perfbench::engine
