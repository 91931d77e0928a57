// Recordings of the compute stream, and what joined it, as CUDA graphs.
#pragma once

#include <cuda_runtime_api.h>

#include <array>

#include "engine/ops/ops.h"

namespace perfbench::engine::cuda {

class Recordings {
 public:
  explicit Recordings(cudaStream_t stream) : stream_(stream) {}
  // Call while none is running. Ends what an exception left open as well: whoever is recorded in it may wait until it
  // is gone, as NCCL does.
  ~Recordings();
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  void begin();
  // Ends the recording and enqueues it. A slot that holds an executable graph of the same operations gets their new
  // operands; of other operations, it is made anew.
  void end(RecordingSlot slot);
  void replay(RecordingSlot slot);
  bool holds(RecordingSlot slot) const { return executables_[static_cast<std::size_t>(slot)] != nullptr; }

 private:
  cudaGraphExec_t& executable(RecordingSlot slot) { return executables_[static_cast<std::size_t>(slot)]; }

  cudaStream_t stream_;
  bool open_ = false;
  std::array<cudaGraphExec_t, kRecordingSlots> executables_{};  // by RecordingSlot
};

}  // namespace perfbench::engine::cuda
