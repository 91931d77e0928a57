// Puts kernels and other work on a stream of the emulated device.
#pragma once

#include <cuda_runtime_api.h>

#include <tuple>
#include <utility>

#include "tests/engine/emulation/block.h"
#include "tests/engine/emulation/stream.h"

namespace perfbench::emulation {

// Appends the launch to the stream: it runs when something waits for it. A configuration that exceeds CUDA's limits
// (Programming Guide, "Technical Specifications per Compute Capability") is an error at once.
cudaError_t enqueue(KernelLaunch launch, cudaStream_t stream);
// In a capture, the work is copied for every run of the graph.
void enqueue(Work work, cudaStream_t stream);

// The kernel's parameters are kept by value, as on a device.
template <class... Parameters, class... Arguments>
std::function<void()> bind_kernel(void (*kernel)(Parameters...), Arguments&&... arguments) {
  return
      [kernel, held = std::tuple<Parameters...>(static_cast<Parameters>(arguments)...)] { std::apply(kernel, held); };
}

}  // namespace perfbench::emulation
