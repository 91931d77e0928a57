// Ctrl-C and its relatives as bytes on a descriptor instead of handlers: the sweep looks where it waits.
#pragma once

#include <csignal>

#include "harness/system/files.h"

namespace perfbench::harness {

// While it lives, SIGINT, SIGTERM and SIGHUP of this thread arrive on fd(), but for those that were ignored before.
// Threads made before keep theirs.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  int fd() const { return fd_.get(); }
  // Whether one has arrived that nobody has taken; takes it.
  bool take();

 private:
  sigset_t before_{};
  FileDescriptor fd_;
};

}  // namespace perfbench::harness
