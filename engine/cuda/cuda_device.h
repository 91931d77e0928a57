// One GPU of this process and its streams.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "engine/cuda/cuda_stream.h"

namespace perfbench::engine {

// Number of GPUs that this process may use, and why there are none: no driver, a driver too old for the toolkit.
struct CudaDevices {
  int count = 0;
  std::string reason;  // empty when count > 0
};
CudaDevices find_cuda_devices();

struct CudaDeviceFacts {
  std::string name;
  std::int64_t memory_bytes = 0;
};
CudaDeviceFacts cuda_device_facts(int ordinal);
// Of the toolkit that this was built with: "13.0".
std::string cuda_toolkit_version();

// The GPU of a rank: of those of its node, the one of its number there. Launchers may show each rank its own GPU alone,
// which is then number 0 to all of them.
std::int64_t ordinal_of_rank(std::int64_t rank_on_node);

class CudaDevice {
 public:
  // Selects it for the calling thread. Throws EngineError (infeasible) when there is none.
  explicit CudaDevice(std::int64_t ordinal);
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  // For the calling thread. Every thread that calls CUDA begins with it: unasked, a thread works on GPU 0, and half a
  // gigabyte of that is then taken by a context that nobody uses.
  void select() const;
  int ordinal() const { return ordinal_; }
  const cudaDeviceProp& properties() const { return properties_; }
  // "0000:18:00.0"
  std::string pci_bus_id() const;
  // As nvidia-smi -L names it: "GPU-6f6b6a1c-...". Empty where the driver tells none.
  std::string uuid() const;
  // The program's order is that of the compute stream; the others join it by events.
  cudaStream_t compute() const { return compute_.get(); }
  cudaStream_t communication() const { return communication_.get(); }
  cudaStream_t copies() const { return copies_.get(); }
  // Until everything that was enqueued has run. Throws what a kernel failed with.
  void synchronize() const;

 private:
  int ordinal_ = 0;
  cudaDeviceProp properties_{};
  CudaStream compute_;
  CudaStream communication_;
  CudaStream copies_;
};

}  // namespace perfbench::engine
