#include "engine/ops/cpu/scratch.h"

#include <new>

namespace perfbench::engine::cpu {

float* FloatBuffer::at_least(std::int64_t floats) {
  if (floats > floats_) {
    constexpr std::size_t kCacheLine = 64;
    const auto bytes = (static_cast<std::size_t>(floats) * sizeof(float) + kCacheLine - 1) / kCacheLine * kCacheLine;
    data_.reset();
    floats_ = 0;
    data_.reset(static_cast<float*>(std::aligned_alloc(kCacheLine, bytes)));
    if (data_ == nullptr) throw std::bad_alloc();
    floats_ = floats;
  }
  return data_.get();
}

void Scratch::prepare(int threads) {
  if (threads_.size() < static_cast<std::size_t>(threads)) threads_.resize(static_cast<std::size_t>(threads));
}

}  // namespace perfbench::engine::cpu
