// The kernels that a CUDA graph launches, and the shapes of their clusters. They tell whether an executable graph may
// be updated to that graph. cudaGraphExecUpdate accepts a graph whose kernels differ, but keeps the old clusters of
// blocks (found on an H200 with driver 580: gradients of cuBLASLt's kernels were wrong, without an error).
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <vector>

namespace perfbench::engine::cuda {

struct KernelNode {
  const void* function = nullptr;
  std::array<unsigned, 3> cluster{};  // in blocks; zeros: no cluster, or the one that the kernel was compiled for
  auto operator<=>(const KernelNode&) const = default;
};

// In the order in which they were recorded. Throws EngineError.
std::vector<KernelNode> kernel_nodes(cudaGraph_t graph);

}  // namespace perfbench::engine::cuda
