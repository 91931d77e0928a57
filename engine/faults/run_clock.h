// A clock that replaces the machine's for all times of a run.
#pragma once

#include <cstdint>

namespace perfbench::engine {

class RunClock {
 public:
  virtual ~RunClock() = default;
  virtual std::int64_t now() = 0;
  // The time until the first step. It is asked for before that step begins.
  virtual std::int64_t startup_ns() = 0;
  virtual std::int64_t probe_ns() = 0;
};

}  // namespace perfbench::engine
