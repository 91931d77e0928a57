// The objects behind the fake libraries' handles, and their log.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <vector>

// Named as in the toolkit and NCCL.
struct ncclComm {
  int ranks = 0;
  std::atomic<int> within = 0;   // calls that have begun and not ended
  std::atomic<int> held_by = 0;  // graphs, one for each collective in them
};
struct CUgraph_st {
  std::vector<ncclComm*> held;
  std::vector<cudaStream_t> joined;  // streams that are being captured into it
};
struct CUgraphExec_st {
  std::vector<ncclComm*> held;
};
struct CUstream_st {
  cudaGraph_t captured = nullptr;
};
struct CUevent_st {
  cudaGraph_t captured = nullptr;
  double at_ms = 0;  // on a clock that products advance
};

namespace perfbench::engine::fake_cuda {

void note(const char* name, std::int64_t value = 0, int ranks = 0, const void* stream = nullptr);
void note_overlap();
void turn_clock(double by_ms);

}  // namespace perfbench::engine::fake_cuda
