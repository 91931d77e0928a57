// Where a step's time is read when the host is not what computes: marks are enqueued with the work and read afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfbench::engine {

class Timeline {
 public:
  virtual ~Timeline() = default;
  // Begins a step with a first mark; earlier marks are forgotten.
  virtual void start() = 0;
  // Marks the end of what was enqueued so far.
  virtual void mark() = 0;
  // Says that a replayed recording sets the next `marks` ones.
  virtual void skip(std::size_t marks) = 0;
  // Waits for the last mark. Nanoseconds between each mark and the one before it, in order.
  virtual std::vector<std::int64_t> gaps_ns() = 0;
};

}  // namespace perfbench::engine
