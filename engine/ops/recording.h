// Work that is enqueued once and can be replayed (a CUDA graph).
#pragma once

namespace perfbench::engine {

// A backend makes it (Ops::end_recording). The caller owns it, and must destroy it before the collectives that it
// holds, while it is not running.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

}  // namespace perfbench::engine
