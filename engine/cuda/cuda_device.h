// One GPU of this process and its streams.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "engine/cuda/cuda_stream.h"

namespace perfbench::engine {

// The number of GPUs that this process may use, and the reason if there are none: no driver, or a driver too old for
// the toolkit.
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
// The version of the toolkit that this was built with: "13.0".
std::string cuda_toolkit_version();

// The GPU of a rank: the one on its node with the rank's number there. A launcher may show each rank only its own GPU,
// which is then number 0 for every rank.
std::int64_t ordinal_of_rank(std::int64_t rank_on_node);

class CudaDevice {
 public:
  // Selects the GPU for the calling thread. Throws EngineError (infeasible) if there is none.
  explicit CudaDevice(std::int64_t ordinal);
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  // Selects the GPU for the calling thread. Every thread that calls CUDA does this first: by default a thread uses GPU
  // 0, where an unused context would take half a gigabyte.
  void select() const;
  int ordinal() const { return ordinal_; }
  const cudaDeviceProp& properties() const { return properties_; }
  // Such as "0000:18:00.0".
  std::string pci_bus_id() const;
  // As printed by nvidia-smi -L: "GPU-6f6b6a1c-...". Empty if the driver does not tell it.
  std::string uuid() const;
  // Work runs in program order on the compute stream; the other streams join it by events.
  cudaStream_t compute() const { return compute_.get(); }
  cudaStream_t communication() const { return communication_.get(); }
  cudaStream_t copies() const { return copies_.get(); }
  // Blocks until everything enqueued has run. Throws the error of a failed kernel.
  void synchronize() const;

 private:
  int ordinal_ = 0;
  cudaDeviceProp properties_{};
  CudaStream compute_;
  CudaStream communication_;
  CudaStream copies_;
};

}  // namespace perfbench::engine
