#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/cuda/cuda_error.h"
#include "engine/ops/cuda/device/launch.cuh"
#include "engine/ops/cuda/noise_probe.h"

namespace perfbench::engine::cuda {
namespace {

// Two warps for each of a multiprocessor's four schedulers, with four chains in each. A multiply-add has a latency of
// four cycles, so eight in flight keep a scheduler busy that starts one each cycle.
constexpr unsigned kThreads = 256;
constexpr int kWarpsOfScheduler = 2;
constexpr int kChains = 4;
constexpr int kUnrolled = 16;

// No thread writes to `never`; the compiler does not know that all sums are positive.
__global__ void multiply_add_kernel(float* never, int iterations) {
  const float factor = 0.999999F;
  const float term = 1e-6F;
  float sums[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) sums[c] = static_cast<float>(static_cast<int>(threadIdx.x) + c + 1);
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (int n = 0; n < kUnrolled; ++n) {
#pragma unroll
      for (int c = 0; c < kChains; ++c) sums[c] = fmaf(sums[c], factor, term);
    }
  }
  float total = 0.0F;
#pragma unroll
  for (int c = 0; c < kChains; ++c) total += sums[c];
  if (total < 0.0F) *never = total;
}

// The iterations of about a millisecond.
int iterations_on(const CudaDevice& device) {
  int cycles_per_ms = 0;
  cuda_check(cudaDeviceGetAttribute(&cycles_per_ms, cudaDevAttrClockRate, device.ordinal()), "cudaDeviceGetAttribute");
  constexpr int kUnknown = 1'000'000;  // a virtual GPU may report 0
  return std::max(1, (cycles_per_ms > 0 ? cycles_per_ms : kUnknown) / (kWarpsOfScheduler * kChains * kUnrolled));
}

}  // namespace

NoiseProbe::NoiseProbe(const CudaDevice& device) : device_(device), iterations_(iterations_on(device)) {}

void NoiseProbe::multiply_add(int iterations) const {
  const LaunchShape shape{.grid = static_cast<unsigned>(device_.properties().multiProcessorCount),
                          .block = kThreads,
                          .stream = device_.compute()};
  launch("noise_probe", multiply_add_kernel, shape, nullptr, iterations);
}

std::int64_t NoiseProbe::time_ns() {
  // While it runs the host enqueues the rest, so that the time between the two events includes no wait of the host.
  multiply_add((iterations_ + 1) / 2);
  begin_.record(device_.compute());
  multiply_add(iterations_);
  end_.record(device_.compute());
  device_.synchronize();
  float milliseconds = 0;
  cuda_check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "cudaEventElapsedTime");
  constexpr double kNsPerMs = 1e6;
  return std::llround(static_cast<double>(milliseconds) * kNsPerMs);
}

}  // namespace perfbench::engine::cuda
