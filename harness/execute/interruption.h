// Delivers Ctrl-C and similar signals as bytes on a descriptor instead of calling handlers, so that the sweep can poll
// it.
#pragma once

#include <csignal>

#include "harness/system/files.h"

namespace perfbench::harness {

// While it exists, SIGINT, SIGTERM and SIGHUP for this thread arrive on fd(), except for those that were ignored
// before. Threads that already existed are not affected.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  int fd() const { return fd_.get(); }
  // Takes a pending signal; returns whether there was one.
  bool take();

 private:
  sigset_t before_{};
  FileDescriptor fd_;
};

}  // namespace perfbench::harness
