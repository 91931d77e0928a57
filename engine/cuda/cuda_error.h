// cuda_check wraps the calls of the CUDA runtime whose failure ends the run. Only for the cuda files.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "engine/core/error.h"

namespace perfbench::engine {

// `call` is the name of the function. The failure of a kernel surfaces at a later call, so `call` is where it was
// noticed.
inline void cuda_check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  const std::string text = std::string(call) + " failed: " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code);
  if (code == cudaErrorMemoryAllocation) throw OutOfMemory(text);
  throw EngineError(EngineExit::failed, text);
}

}  // namespace perfbench::engine
