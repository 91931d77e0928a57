// Measures a step's time on a device that computes asynchronously: marks are enqueued with the work and read
// afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfbench::engine {

class Timeline {
 public:
  virtual ~Timeline() = default;
  // Begins a step with a first mark and forgets earlier marks.
  virtual void start() = 0;
  // Marks the end of the work enqueued so far.
  virtual void mark() = 0;
  // Tells that a replayed recording sets the next `marks` marks.
  virtual void skip(std::size_t marks) = 0;
  // Waits for the last mark. Returns the nanoseconds from each mark to the next, in order.
  virtual std::vector<std::int64_t> gaps_ns() = 0;
};

}  // namespace perfbench::engine
