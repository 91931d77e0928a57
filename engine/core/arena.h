// Address-ordered best-fit allocation over one contiguous range. Deterministic: the same sequence of calls gives the
// same offsets, so a dry walk (which holds no memory) predicts the real arena byte for byte.
#pragma once

#include <cstdint>
#include <vector>

namespace perfbench::engine {

class Arena {
 public:
  // That of cudaMalloc, which CUDA's libraries ask of a workspace (cuBLAS documentation, cublasSetWorkspace); a
  // multiple of a cache line and of the widest vector register of CPUs. Nobody's choice of a kernel then depends on
  // where a tensor came to lie.
  static constexpr std::int64_t kAlignment = 256;

  static constexpr std::int64_t rounded(std::int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  // Offset of a free block of rounded(bytes); the smallest gap that fits, else behind the last block.
  std::int64_t allocate(std::int64_t bytes);
  // `offset` and `bytes` as of allocate.
  void release(std::int64_t offset, std::int64_t bytes);
  // Highest end of any block so far: the address range that is needed.
  std::int64_t extent() const { return extent_; }

 private:
  struct Gap {
    std::int64_t offset = 0;
    std::int64_t size = 0;
    std::int64_t end() const { return offset + size; }
  };
  std::vector<Gap> gaps_;  // below end_, by offset; no two touch. A few dozen, of which each allocation looks at all
  std::int64_t end_ = 0;   // end of the last block in use
  std::int64_t extent_ = 0;
};

}  // namespace perfbench::engine
