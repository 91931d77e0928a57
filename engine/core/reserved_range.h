// A reserved range of addresses. An arena uses as much of it as it needs, so that addresses do not change while it
// grows.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "engine/core/error.h"

namespace perfbench::engine {

class ReservedRange {
 public:
  // Maps `file` from its start, or anonymous memory if `file` is -1, as large as the process may map. Throws
  // OutOfMemory.
  ReservedRange(int flags, int file) {
    for (bytes_ = std::size_t{1} << 44; bytes_ >= (std::size_t{1} << 32); bytes_ /= 2) {
      base_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, file, 0);
      if (base_ != MAP_FAILED) return;
    }
    throw OutOfMemory(std::string("no address space for the tensor arena: ") + std::strerror(errno));
  }
  ~ReservedRange() { ::munmap(base_, bytes_); }
  ReservedRange(const ReservedRange&) = delete;
  ReservedRange& operator=(const ReservedRange&) = delete;

  void* at(std::int64_t offset, std::int64_t bytes) const {
    if (offset + bytes > static_cast<std::int64_t>(bytes_)) {
      throw OutOfMemory("the tensor arena's address space of " + std::to_string(bytes_) + " bytes is used up");
    }
    return static_cast<char*>(base_) + offset;
  }
  void advise(std::int64_t offset, std::int64_t bytes, int advice) const {
    ::madvise(static_cast<char*>(base_) + offset, static_cast<std::size_t>(bytes), advice);
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_); }

 private:
  void* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace perfbench::engine
