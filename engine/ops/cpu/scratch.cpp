#include "engine/ops/cpu/scratch.h"

#include "engine/core/error.h"

namespace perfbench::engine::cpu {

float* FloatBuffer::at_least(std::int64_t floats, const std::string& what) {
  if (floats > floats_) {
    const std::int64_t bytes = Carver::rounded(floats) * static_cast<std::int64_t>(sizeof(float));
    data_.reset();
    floats_ = 0;
    constexpr std::size_t kCacheLine = Carver::kAlign * sizeof(float);
    data_.reset(static_cast<float*>(std::aligned_alloc(kCacheLine, static_cast<std::size_t>(bytes))));
    if (data_ == nullptr) throw OutOfMemory("out of memory: " + what + " needs " + std::to_string(bytes) + " bytes");
    floats_ = floats;
  }
  return data_.get();
}

void Scratch::prepare(int threads, std::int64_t floats) {
  stride_ = Carver::rounded(floats);
  base_ = buffer_.at_least(threads * stride_, "scratch of " + std::to_string(threads) + " threads");
}

}  // namespace perfbench::engine::cpu
