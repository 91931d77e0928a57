// The noise probe of a GPU, as engine/metrics/noise_probe.h is a processor's: multiply-adds in registers, on all units
// of all multiprocessors, whose time tells whether the GPU's clock changed under a run or somebody else's kernels share
// it. What the host does meanwhile is not in it, as it is not in a step that the host is ahead of.
#pragma once

#include <cstdint>

#include "engine/cuda/cuda_device.h"
#include "engine/cuda/cuda_event.h"

namespace perfbench::engine::cuda {

class NoiseProbe {
 public:
  // `device` must outlive it.
  explicit NoiseProbe(const CudaDevice& device);
  // Nanoseconds, by the device's own events; waits for what was enqueued on the compute stream before. The same work
  // each time, of about 1 ms at the highest clock that the device names, after a warm-up of half of it.
  std::int64_t time_ns();

 private:
  void multiply_add(int iterations) const;

  const CudaDevice& device_;
  const int iterations_;
  CudaEvent begin_{cudaEventDefault};
  CudaEvent end_{cudaEventDefault};
};

}  // namespace perfbench::engine::cuda
