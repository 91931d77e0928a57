// Cuts one buffer into parts that begin at cache lines. A carver without a buffer only adds up the size that is needed.
#pragma once

#include <cstdint>

namespace perfbench::engine {

class Carver {
 public:
  // Floats in a cache line, and in the widest vector register of CPUs.
  static constexpr std::int64_t kAlign = 16;
  static constexpr std::int64_t rounded(std::int64_t floats) { return (floats + kAlign - 1) / kAlign * kAlign; }

  explicit Carver(float* base = nullptr) : base_(base) {}
  float* take(std::int64_t floats) {
    float* const part = base_ == nullptr ? nullptr : base_ + used_;
    used_ += rounded(floats);
    return part;
  }
  std::int64_t used() const { return used_; }

 private:
  float* base_;
  std::int64_t used_ = 0;
};

}  // namespace perfbench::engine
