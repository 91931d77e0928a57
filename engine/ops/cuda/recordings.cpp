#include "engine/ops/cuda/recordings.h"

#include "engine/core/cuda_error.h"

namespace perfbench::engine::cuda {

void Recordings::forget() {
  for (cudaGraphExec_t& graph : executables_) {
    if (graph != nullptr) cudaGraphExecDestroy(graph);
    graph = nullptr;
  }
}

void Recordings::begin() {
  // Of this thread alone: others ask events how far collectives are.
  cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

void Recordings::end(RecordingSlot slot) {
  cudaGraph_t graph = nullptr;
  cuda_check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  cudaGraphExec_t& known = executable(slot);
  if (known != nullptr) {
    cudaGraphExecUpdateResultInfo info{};
    if (cudaGraphExecUpdate(known, graph, &info) != cudaSuccess) {
      cudaGetLastError();  // the operations differ: no error, a reason to begin anew
      cuda_check(cudaGraphExecDestroy(known), "cudaGraphExecDestroy");
      known = nullptr;
    }
  }
  if (known == nullptr) cuda_check(cudaGraphInstantiate(&known, graph, 0), "cudaGraphInstantiate");
  cuda_check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  replay(slot);
}

void Recordings::replay(RecordingSlot slot) {
  cuda_check(cudaGraphLaunch(executable(slot), stream_), "cudaGraphLaunch");
}

}  // namespace perfbench::engine::cuda
