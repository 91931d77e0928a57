// Token ids in kernels: an id outside the vocabulary is reported and never used as an index.
#pragma once

#include "engine/ops/cuda/device/launch.cuh"
#include "engine/ops/cuda/host/host_mailbox.h"

namespace perfbench::engine::cuda {

__device__ inline bool is_in(std::int64_t vocabulary, std::int32_t token) {
  return token >= 0 && token < vocabulary;
}

// The lowest row wins, so that the message is the same in every run.
__device__ inline void report_token(BadToken* report, std::int64_t row, std::int32_t token) {
  atomicMin(report, static_cast<BadToken>(row) << 32 | static_cast<std::uint32_t>(token));
}

}  // namespace perfbench::engine::cuda
