// A second witness beside the clock: how many instructions the engine's processes retired in user mode. Where the
// kernel gives a hardware counter it is nearly free of noise; where it does not, nothing stands in for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace perfbench::harness {

class InstructionCounter {
 public:
  InstructionCounter() = default;
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;
  virtual ~InstructionCounter() = default;

  // Why it never counts: "perf_event_open: No such file or directory". Empty where it does.
  virtual std::string unavailable() const = 0;
  // Counts what this thread starts between start() and stop(), and what that starts in turn; this thread itself is not
  // counted. stop() has nothing when the counter was shared with others and so did not run all the time.
  virtual void start() = 0;
  virtual std::optional<std::int64_t> stop() = 0;
};

// PERF_COUNT_HW_INSTRUCTIONS of perf_event_open(2), inherited by children. The kernel counts for unprivileged users
// where kernel.perf_event_paranoid is 2 or less.
std::unique_ptr<InstructionCounter> hardware_instruction_counter();

}  // namespace perfbench::harness
