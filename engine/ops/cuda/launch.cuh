// How kernels are started. One function, so that a build without nvcc can run the same kernels thread by thread
// (tests/engine/emulation).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "engine/core/cuda_error.h"

namespace perfbench::engine::cuda {

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;  // dynamic
  cudaStream_t stream = nullptr;
};

#if defined(__CUDACC__)
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = shape.stream;
  cuda_check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), name);
}
#else
#include "tests/engine/emulation/launch.h"
#endif

}  // namespace perfbench::engine::cuda
