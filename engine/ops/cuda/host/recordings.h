// Recordings of the compute stream, and of streams that joined it, as CUDA graphs.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "engine/ops/recording.h"

namespace perfbench::engine::cuda {

class GraphRecorder {
 public:
  explicit GraphRecorder(cudaStream_t stream) : stream_(stream) {}
  // Ends a recording that an exception left open: libraries recorded in it, such as NCCL, may wait until it is gone.
  ~GraphRecorder();
  GraphRecorder(const GraphRecorder&) = delete;
  GraphRecorder& operator=(const GraphRecorder&) = delete;

  void begin();
  // Ends the recording and enqueues it. `earlier`, which may be null, is updated with the new operands if its
  // operations are the same; otherwise a new recording is made.
  std::unique_ptr<Recording> end(std::unique_ptr<Recording> earlier);

 private:
  cudaStream_t stream_;
  bool open_ = false;
};

}  // namespace perfbench::engine::cuda
