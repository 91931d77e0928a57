// Work that was enqueued once and can be enqueued again (a CUDA graph).
#pragma once

namespace perfbench::engine {

// A backend makes it (Ops::end_recording); who asked for it owns it, and lets it go before the collectives that it
// holds, while it is not running.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

}  // namespace perfbench::engine
