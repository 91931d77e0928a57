// A stream of the selected GPU. Only for the cuda and nccl files.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "engine/cuda/cuda_error.h"

namespace perfbench::engine {

// A stream waits for other streams only through events. greatest: gets free multiprocessors first, for work that others
// wait for.
enum class CudaPriority { least, greatest };

class CudaStream {
 public:
  CudaStream() = default;  // no stream
  explicit CudaStream(CudaPriority priority) {
    int least = 0;
    int greatest = 0;
    cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    cuda_check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                            priority == CudaPriority::least ? least : greatest),
               "cudaStreamCreateWithPriority");
  }
  ~CudaStream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  CudaStream(CudaStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace perfbench::engine
