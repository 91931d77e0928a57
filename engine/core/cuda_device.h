// One GPU of this process and its streams.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace perfbench::engine {

// Number of GPUs that this process may use, and why there are none: no driver, a driver too old for the toolkit.
struct CudaDevices {
  int count = 0;
  std::string reason;  // empty when count > 0
};
CudaDevices find_cuda_devices();

class CudaDevice {
 public:
  // Makes `ordinal` the current device of the calling thread. Throws EngineError (infeasible) when there is none.
  explicit CudaDevice(int ordinal);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  int ordinal() const { return ordinal_; }
  const cudaDeviceProp& properties() const { return properties_; }
  // The program's order is that of the compute stream; the others join it by events.
  cudaStream_t compute() const { return compute_; }
  cudaStream_t communication() const { return communication_; }
  cudaStream_t copies() const { return copies_; }
  // Until everything that was enqueued has run. Throws what a kernel failed with.
  void synchronize() const;

 private:
  int ordinal_ = 0;
  cudaDeviceProp properties_{};
  cudaStream_t compute_ = nullptr;
  cudaStream_t communication_ = nullptr;
  cudaStream_t copies_ = nullptr;
};

}  // namespace perfbench::engine
