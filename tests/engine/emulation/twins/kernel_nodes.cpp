// The twin of engine/ops/cuda/host/kernel_nodes.cpp: an emulated device has no clusters, so every update is complete.
#include "engine/ops/cuda/host/kernel_nodes.h"

namespace perfbench::engine::cuda {

std::vector<KernelNode> kernel_nodes(cudaGraph_t) {
  return {};
}

}  // namespace perfbench::engine::cuda
