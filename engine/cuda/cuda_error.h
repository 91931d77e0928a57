// Calls of the CUDA runtime whose failure ends the run go through cuda_check. For the cuda files alone.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "engine/core/error.h"

namespace perfbench::engine {

// `call`: the name of the function. A failed kernel shows at a later call, so the call is where it was noticed.
inline void cuda_check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  const std::string text = std::string(call) + " failed: " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code);
  if (code == cudaErrorMemoryAllocation) throw OutOfMemory(text);
  throw EngineError(EngineExit::failed, text);
}

}  // namespace perfbench::engine
