// Copies from global to shared memory that go on while the thread computes (cp.async). In the emulator they land when
// they are waited for.
#pragma once

#include <cuda_pipeline.h>

#include "engine/ops/cuda/device/launch.cuh"

namespace perfbench::engine::cuda {

inline constexpr int kCopyBytes = 16;  // of one copy; both addresses are multiples of it

// What was copied since the last call becomes a group.
__device__ inline void end_group_of_copies() {
  __pipeline_commit();
}

// What the calling thread copies is there after its wait; what others copy, after a barrier behind theirs.
__device__ inline void copy_async(void* shared, const void* global) {
  __pipeline_memcpy_async(shared, global, kCopyBytes);
}
__device__ inline void wait_for_copies() {
  end_group_of_copies();
  __pipeline_wait_prior(0);
}
// Until all groups but the newest are there.
__device__ inline void wait_for_groups_before() {
  __pipeline_wait_prior(1);
}

}  // namespace perfbench::engine::cuda
