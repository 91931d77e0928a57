#include "engine/ops/cuda/host/recordings.h"

#include <utility>
#include <vector>

#include "engine/cuda/cuda_error.h"
#include "engine/ops/cuda/host/kernel_nodes.h"

namespace perfbench::engine::cuda {
namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
// The recorded graph, from which executable graphs are made. Like these it holds the communicators of its collectives.
using RecordedGraph = std::unique_ptr<CUgraph_st, DestroyGraph>;

class ExecutableGraph final : public Recording {
 public:
  // `kernels` must be those of `graph`.
  ExecutableGraph(cudaGraph_t graph, std::vector<KernelNode> kernels, cudaStream_t stream)
      : stream_(stream), kernels_(std::move(kernels)) {
    // By default all nodes would have the priority of the stream that the graph is launched on.
    cuda_check(cudaGraphInstantiate(&executable_, graph, cudaGraphInstantiateFlagUseNodePriority),
               "cudaGraphInstantiate");
  }
  ~ExecutableGraph() override { cudaGraphExecDestroy(executable_); }
  ExecutableGraph(const ExecutableGraph&) = delete;
  ExecutableGraph& operator=(const ExecutableGraph&) = delete;

  void replay() override { cuda_check(cudaGraphLaunch(executable_, stream_), "cudaGraphLaunch"); }
  // Returns whether it was updated: only if its operations are those of `graph`, with the same kernels.
  bool update(cudaGraph_t graph, const std::vector<KernelNode>& kernels) {
    if (kernels != kernels_) return false;
    cudaGraphExecUpdateResultInfo info{};
    if (cudaGraphExecUpdate(executable_, graph, &info) == cudaSuccess) return true;
    cudaGetLastError();  // not an error: a new graph is made
    return false;
  }

 private:
  cudaStream_t stream_;
  std::vector<KernelNode> kernels_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

GraphRecorder::~GraphRecorder() {
  if (!open_) return;
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream_, &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
}

void GraphRecorder::begin() {
  // Only for this thread: other threads query events for the progress of collectives.
  cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  open_ = true;
}

std::unique_ptr<Recording> GraphRecorder::end(std::unique_ptr<Recording> earlier) {
  open_ = false;
  cudaGraph_t ended = nullptr;
  const cudaError_t code = cudaStreamEndCapture(stream_, &ended);
  const RecordedGraph graph(ended);
  cuda_check(code, "cudaStreamEndCapture");
  auto kernels = kernel_nodes(graph.get());
  auto* const known = dynamic_cast<ExecutableGraph*>(earlier.get());
  if (known == nullptr || !known->update(graph.get(), kernels)) {
    earlier.reset();
    earlier = std::make_unique<ExecutableGraph>(graph.get(), std::move(kernels), stream_);
  }
  earlier->replay();
  return earlier;
}

}  // namespace perfbench::engine::cuda
