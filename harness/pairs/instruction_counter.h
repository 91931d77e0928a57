// A second measure beside the clock: the number of instructions that the engine's processes retired in user mode. If
// the kernel offers a hardware counter, it is nearly free of noise; otherwise there is no substitute.
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

  // Why it cannot count: "perf_event_open: No such file or directory". Empty if it can.
  virtual std::string unavailable() const = 0;
  // Counts processes that this thread starts between start() and stop(), and their descendants, but not this thread
  // itself. stop() returns nullopt if the counter was shared with others and did not run all the time.
  virtual void start() = 0;
  virtual std::optional<std::int64_t> stop() = 0;
};

// PERF_COUNT_HW_INSTRUCTIONS of perf_event_open(2), inherited by children. Unprivileged users may use it if
// kernel.perf_event_paranoid is 2 or less.
std::unique_ptr<InstructionCounter> hardware_instruction_counter();

}  // namespace perfbench::harness
