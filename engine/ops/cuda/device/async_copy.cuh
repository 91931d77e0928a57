// Copies from global to shared memory that continue while the thread computes (cp.async). In the emulator they complete
// when they are waited for.
#pragma once

#include <cuda_pipeline.h>

#include "engine/ops/cuda/device/launch.cuh"

namespace perfbench::engine::cuda {

inline constexpr int kCopyBytes = 16;  // per copy; both addresses are multiples of it

// The copies since the last call become a group.
__device__ inline void end_group_of_copies() {
  __pipeline_commit();
}

// A thread sees its own copies after its wait, and those of other threads after their wait and a barrier.
__device__ inline void copy_async(void* shared, const void* global) {
  __pipeline_memcpy_async(shared, global, kCopyBytes);
}
__device__ inline void wait_for_copies() {
  end_group_of_copies();
  __pipeline_wait_prior(0);
}
// Waits for all groups but the newest.
__device__ inline void wait_for_groups_before() {
  __pipeline_wait_prior(1);
}

}  // namespace perfbench::engine::cuda
