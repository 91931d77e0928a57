// Working memory that each thread of a kernel has for itself. It grows to the largest request and is kept, so that no
// call on the hot path allocates.
//
// No plan includes it, because the run does not decide the number of threads. A thread takes at most, with T the length
// of a sequence, D head_dim (both rounded up to tiles and registers) and V the columns of logits of a rank:
//   flash attention         (32 D + 8) T bytes and 256 KiB of tiles; 2 MiB and the tiles for 1024 tokens of 64
//   dot_product attention   (8 D + 192) T bytes and 256 KiB of tiles
//   cross entropy           4 V bytes, in bf16 and where ranks share a row
//   the own matrix product  1.5 MiB
// (tests/engine/ops_cpu_scratch_test.cpp). Memory that does not depend on the threads is in the run's workspace
// (engine/ops/cpu_workspace.h).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "engine/ops/carver.h"

namespace perfbench::engine::cpu {

// Floats aligned to a cache line; the contents are lost when it grows.
class FloatBuffer {
 public:
  // Throws OutOfMemory naming `what`. Never call it within a parallel region, which no exception may leave.
  float* at_least(std::int64_t floats, const std::string& what);

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data_;
  std::int64_t floats_ = 0;
};

class Scratch {
 public:
  // Reserves `floats` for each of `threads` threads. Call it before the parallel region that uses them; throws
  // OutOfMemory.
  void prepare(int threads, std::int64_t floats);
  // The memory of thread t, which is below `threads` of the last prepare().
  float* of_thread(int t) const { return base_ + t * stride_; }

 private:
  FloatBuffer buffer_;
  float* base_ = nullptr;
  std::int64_t stride_ = 0;
};

}  // namespace perfbench::engine::cpu
