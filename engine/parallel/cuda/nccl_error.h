// Calls of NCCL whose failure ends the run go through nccl_check. For the nccl files alone.
#pragma once

#include <nccl.h>

#include <string>

#include "engine/core/error.h"

namespace perfbench::engine {

// `call`: the name of the function, or of the collective.
inline void nccl_check(ncclResult_t code, const std::string& call) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  throw EngineError(EngineExit::failed,
                    call + " failed: " + ncclGetErrorString(code) + "; " + ncclGetLastError(nullptr));
}

}  // namespace perfbench::engine
