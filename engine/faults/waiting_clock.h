// How a delay waits: by keeping busy until the machine's clock has advanced, or by setting the engine's own clock
// (work_clock.h).
#pragma once

#include <cstdint>

#include "engine/core/monotonic_clock.h"

namespace perfbench::engine {

class WaitingClock {
 public:
  virtual ~WaitingClock() = default;
  virtual std::int64_t now() = 0;
  // Returns the clock's time once it has reached `at_ns`.
  virtual std::int64_t wait_until(std::int64_t at_ns) = 0;
};

// Keeps busy, as slower work would.
class BusyClock : public WaitingClock {
 public:
  using Now = std::int64_t (*)();
  explicit BusyClock(Now reading = monotonic_ns) : now_(reading) {}
  std::int64_t now() override { return now_(); }
  std::int64_t wait_until(std::int64_t at_ns) override {
    std::int64_t shown = now_();
    while (shown < at_ns) shown = now_();
    return shown;
  }

 private:
  Now now_;
};

}  // namespace perfbench::engine
