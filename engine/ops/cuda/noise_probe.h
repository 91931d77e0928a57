// The noise probe of a GPU, the counterpart of engine/metrics/noise_probe.h for processors. It runs multiply-adds in
// registers on all units of all multiprocessors. Its time shows whether the GPU's clock changed under a run, or whether
// kernels of other processes share it. Like a step in which the host is ahead, it does not include what the host does
// meanwhile.
#pragma once

#include <cstdint>

#include "engine/cuda/cuda_device.h"
#include "engine/cuda/cuda_event.h"

namespace perfbench::engine::cuda {

class NoiseProbe {
 public:
  // `device` must outlive it.
  explicit NoiseProbe(const CudaDevice& device);
  // Nanoseconds, measured by the device's own events; waits for work enqueued earlier on the compute stream. The work
  // is always the same, about 1 ms at the device's highest nominal clock, after a warm-up of half of it.
  std::int64_t time_ns();

 private:
  void multiply_add(int iterations) const;

  const CudaDevice& device_;
  const int iterations_;
  CudaEvent begin_{cudaEventDefault};
  CudaEvent end_{cudaEventDefault};
};

}  // namespace perfbench::engine::cuda
