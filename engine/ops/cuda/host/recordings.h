// Recordings of the compute stream, and what joined it, as CUDA graphs.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "engine/ops/recording.h"

namespace perfbench::engine::cuda {

class GraphRecorder {
 public:
  explicit GraphRecorder(cudaStream_t stream) : stream_(stream) {}
  // Ends what an exception left open: whoever is recorded in it may wait until it is gone, as NCCL does.
  ~GraphRecorder();
  GraphRecorder(const GraphRecorder&) = delete;
  GraphRecorder& operator=(const GraphRecorder&) = delete;

  void begin();
  // Ends the recording and enqueues it. `earlier`, which may be null, gets the new operands if its operations are the
  // same; else there is a new one.
  std::unique_ptr<Recording> end(std::unique_ptr<Recording> earlier);

 private:
  cudaStream_t stream_;
  bool open_ = false;
};

}  // namespace perfbench::engine::cuda
