#include "engine/ops/cuda/host/recordings.h"

#include <memory>
#include <utility>

#include "engine/cuda/cuda_error.h"

namespace perfbench::engine::cuda {
namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
// What was recorded, from which executable graphs are made. It holds the communicators of its collectives as they do.
using RecordedGraph = std::unique_ptr<CUgraph_st, DestroyGraph>;

}  // namespace

Recordings::~Recordings() {
  if (open_) {
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(stream_, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  for (cudaGraphExec_t graph : executables_) {
    if (graph != nullptr) cudaGraphExecDestroy(graph);
  }
}

void Recordings::begin() {
  // Of this thread alone: others ask events how far collectives are.
  cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  open_ = true;
}

void Recordings::end(RecordingSlot slot) {
  open_ = false;
  cudaGraph_t ended = nullptr;
  const cudaError_t code = cudaStreamEndCapture(stream_, &ended);
  const RecordedGraph graph(ended);
  cuda_check(code, "cudaStreamEndCapture");
  cudaGraphExec_t& known = executable(slot);
  if (known != nullptr) {
    cudaGraphExecUpdateResultInfo info{};
    if (cudaGraphExecUpdate(known, graph.get(), &info) != cudaSuccess) {
      cudaGetLastError();  // the operations differ: no error, a reason to begin anew
      cuda_check(cudaGraphExecDestroy(std::exchange(known, nullptr)), "cudaGraphExecDestroy");
    }
  }
  if (known == nullptr) {
    // By themselves all nodes would have the priority of the stream that the graph is launched on.
    cuda_check(cudaGraphInstantiate(&known, graph.get(), cudaGraphInstantiateFlagUseNodePriority),
               "cudaGraphInstantiate");
  }
  replay(slot);
}

void Recordings::replay(RecordingSlot slot) {
  cuda_check(cudaGraphLaunch(executable(slot), stream_), "cudaGraphLaunch");
}

}  // namespace perfbench::engine::cuda
