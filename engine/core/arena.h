// Address-ordered best-fit allocation over one contiguous range. Deterministic: the same sequence of calls gives the
// same offsets, so a dry walk (which holds no memory) predicts the real arena byte for byte.
#pragma once

#include <cstdint>
#include <vector>

namespace perfbench::engine {

class Arena {
 public:
  // The alignment of cudaMalloc, which CUDA's libraries require of a workspace (cuBLAS documentation,
  // cublasSetWorkspace); a multiple of a cache line and of the widest vector register of CPUs. So no library's choice
  // of a kernel depends on where a tensor happens to lie.
  static constexpr std::int64_t kAlignment = 256;

  static constexpr std::int64_t rounded(std::int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  // Returns the offset of a free block of rounded(bytes): in the smallest gap that fits, or else behind the last block.
  std::int64_t allocate(std::int64_t bytes);
  // `offset` and `bytes` are those of the allocation.
  void release(std::int64_t offset, std::int64_t bytes);
  // The highest end of any block so far: the size of the address range that is needed.
  std::int64_t extent() const { return extent_; }

 private:
  struct Gap {
    std::int64_t offset = 0;
    std::int64_t size = 0;
    std::int64_t end() const { return offset + size; }
  };
  // below end_, by offset; no two touch. There are a few dozen, and each allocation scans them all
  std::vector<Gap> gaps_;
  std::int64_t end_ = 0;  // end of the last block in use
  std::int64_t extent_ = 0;
};

}  // namespace perfbench::engine
