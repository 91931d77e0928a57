// How kernels are launched and how they declare shared memory. A build without nvcc does these two things differently,
// to run the same kernels thread by thread on the CPU. Such a build puts a device_emulation.h on the include path, with
// emulation::enqueue, emulation::bind_kernel, emulation::require_aligned, PERFBENCH_SHARED, PERFBENCH_DYNAMIC_SHARED
// and the other parts of nvcc's language that kernels use.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "engine/cuda/cuda_error.h"
#if !defined(__CUDACC__)
#include <device_emulation.h>
#endif

#if defined(__CUDACC__)
// `count` elements of the block's shared memory, in a kernel or a device function.
#define PERFBENCH_SHARED(type, name, count) __shared__ type name[count]
// The LaunchShape's shared_bytes, aligned to 16 bytes; `name` can be indexed and added to.
#define PERFBENCH_DYNAMIC_SHARED(type, name)                              \
  extern __shared__ __align__(16) unsigned char perfbench_shared_bytes[]; \
  type* const name = reinterpret_cast<type*>(perfbench_shared_bytes)
#endif

namespace perfbench::engine::cuda {

// On a device, a vector at an address that is not a multiple of its size is a fault. Elsewhere it would go unnoticed.
#if defined(__CUDACC__)
__device__ inline void require_aligned(const void*, std::size_t) {}
#else
using emulation::require_aligned;
#endif

// A block gets more than 48 KiB of shared memory only on request. Memory that the kernel declares counts too, so
// dynamic memory above this smaller limit is already requested.
inline constexpr std::size_t kSharedWithoutRequest = std::size_t{32} << 10;

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;  // dynamic shared memory
  cudaStream_t stream = nullptr;
};

// `name` names the kernel in errors.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, Arguments&&... arguments) {
#if defined(__CUDACC__)
  if (shape.shared_bytes > kSharedWithoutRequest) {
    cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes)),
        name);
  }
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = shape.stream;
  cuda_check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), name);
#else
  emulation::KernelLaunch run{.name = name,
                              .grid = shape.grid,
                              .block = shape.block,
                              .shared_bytes = shape.shared_bytes,
                              .requests_shared = shape.shared_bytes > kSharedWithoutRequest};
  run.thread = emulation::bind_kernel(kernel, arguments...);
  cuda_check(emulation::enqueue(std::move(run), shape.stream), name);
#endif
}

}  // namespace perfbench::engine::cuda
