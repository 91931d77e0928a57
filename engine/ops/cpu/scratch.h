// Working memory of the kernels: it grows to the largest request and is kept, so that no call on the hot path
// allocates.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace perfbench::engine::cpu {

// Floats aligned to a cache line; contents are lost when it grows.
class FloatBuffer {
 public:
  float* at_least(std::int64_t floats);

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data_;
  std::int64_t floats_ = 0;
};

class Scratch {
 public:
  // Call before a parallel region whose threads use of_thread.
  void prepare(int threads);
  // Thread t's own memory; t < the largest prepare().
  float* of_thread(int t, std::int64_t floats) { return threads_[static_cast<std::size_t>(t)].at_least(floats); }
  float* shared(std::int64_t floats) { return shared_.at_least(floats); }
  // For small operands (weights, biases) turned into f32; apart from shared().
  float* operand(std::int64_t floats) { return operand_.at_least(floats); }

 private:
  std::vector<FloatBuffer> threads_;
  FloatBuffer shared_;
  FloatBuffer operand_;
};

// Cuts one buffer into aligned parts. A carver without a buffer only adds up what will be needed.
class Carver {
 public:
  explicit Carver(float* base = nullptr) : base_(base) {}
  float* take(std::int64_t floats) {
    float* const part = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (floats + kAlign - 1) / kAlign * kAlign;
    return part;
  }
  std::int64_t used() const { return used_; }

 private:
  static constexpr std::int64_t kAlign = 16;  // floats of a cache line
  float* base_;
  std::int64_t used_ = 0;
};

}  // namespace perfbench::engine::cpu
