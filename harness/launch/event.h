// A counter that a thread can wait for beside other descriptors.
#pragma once

#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "harness/file_descriptor.h"

namespace perfbench::harness {

class Event {
 public:
  Event() : fd_(eventfd(0, EFD_CLOEXEC)) {
    if (!fd_.is_open()) throw std::system_error(errno, std::generic_category(), "[launch] no eventfd");
  }
  int fd() const { return fd_.get(); }
  void add() { eventfd_write(fd_.get(), 1); }
  // What was added since the last time; waits for it.
  std::uint64_t take() {
    eventfd_t count = 0;
    eventfd_read(fd_.get(), &count);
    return count;
  }

 private:
  FileDescriptor fd_;
};

}  // namespace perfbench::harness
