// A clock that advances only with work, for demonstrations that have to end the same way on a busy machine. An
// operation takes the time of its own FLOPs and bytes at fixed rates, whatever the cores were doing meanwhile. Times of
// this clock are not measurements; a run that uses it says so in its arguments (faults.h).
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
  // `pace` scales all its times; 1 gives the rates below. Each run draws its own, which is the noise between runs.
  explicit WorkClock(double pace) : pace_(pace) {}

  // The FLOPs of all operations so far. An operation's share is the difference since the previous one.
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
  std::vector<std::int64_t> open_;        // on the schedule lane: bytes of an operation, kNoWork of any other span
  std::atomic<std::int64_t> now_ns_ = 0;  // the communication lane reads it from another thread
};

}  // namespace perfbench::engine
