// Events: points of a stream that other streams can wait for. Only for the cuda and nccl files.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "engine/cuda/cuda_error.h"

namespace perfbench::engine {

// Whether work enqueued on `stream` is being recorded into a graph.
inline bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cuda_check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

class CudaEvent {
 public:
  explicit CudaEvent(unsigned flags = cudaEventDisableTiming) {
    cuda_check(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags");
  }
  ~CudaEvent() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  CudaEvent(CudaEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  // Records the work enqueued on `stream` so far.
  void record(cudaStream_t stream) { cuda_check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  // Work enqueued on `stream` from now on runs after the recorded point.
  void hold(cudaStream_t stream) const { cuda_check(cudaStreamWaitEvent(stream, event_), "cudaStreamWaitEvent"); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace perfbench::engine
