// What tells the times of a run in place of the machine.
#pragma once

#include <cstdint>

namespace perfbench::engine {

class RunClock {
 public:
  virtual ~RunClock() = default;
  virtual std::int64_t now() = 0;
  // Until the first step; asked for before it begins.
  virtual std::int64_t startup_ns() = 0;
  virtual std::int64_t probe_ns() = 0;
};

}  // namespace perfbench::engine
