#include "engine/ops/cuda/host/kernel_nodes.h"

#include <cuda.h>

#include "engine/cuda/cuda_error.h"

namespace perfbench::engine::cuda {
namespace {

using GetParams = CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*);

// The driver's function: the runtime's knows only kernels of this program, not those that libraries load.
GetParams driver_get_params() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  constexpr unsigned kVersion = 12000;  // the version of the function for which CUDA_KERNEL_NODE_PARAMS has this layout
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion("cuGraphKernelNodeGetParams", &function, kVersion, cudaEnableDefault, &found);
#else
  const cudaError_t code = cudaGetDriverEntryPoint("cuGraphKernelNodeGetParams", &function, cudaEnableDefault, &found);
#endif
  cuda_check(code, "cudaGetDriverEntryPoint");
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    throw EngineError(EngineExit::failed, "the driver has no cuGraphKernelNodeGetParams; it is older than CUDA 12");
  }
  return reinterpret_cast<GetParams>(function);
}

const void* function_of(cudaGraphNode_t node) {
  static const GetParams get_params = driver_get_params();
  CUDA_KERNEL_NODE_PARAMS params{};
  if (const CUresult code = get_params(node, &params); code != CUDA_SUCCESS) {
    throw EngineError(EngineExit::failed, "cuGraphKernelNodeGetParams failed with code " + std::to_string(code));
  }
  return params.func != nullptr ? static_cast<const void*>(params.func) : static_cast<const void*>(params.kern);
}

std::array<unsigned, 3> cluster_of(cudaGraphNode_t node) {
  cudaLaunchAttributeValue value{};
  cuda_check(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeClusterDimension, &value),
             "cudaGraphKernelNodeGetAttribute");
  return {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
}

}  // namespace

std::vector<KernelNode> kernel_nodes(cudaGraph_t graph) {
  std::size_t count = 0;
  cuda_check(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  cuda_check(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
  std::vector<KernelNode> kernels;
  for (const auto& node : nodes) {
    cudaGraphNodeType type{};
    cuda_check(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    if (type == cudaGraphNodeTypeKernel) kernels.push_back({function_of(node), cluster_of(node)});
  }
  return kernels;
}

}  // namespace perfbench::engine::cuda
