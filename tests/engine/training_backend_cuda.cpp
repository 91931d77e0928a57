#include <algorithm>

#include "engine/core/bf16.h"
#include "engine/cuda/cuda_error.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/cuda/cuda_timeline.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/train/dry_walk.h"
#include "tests/engine/cuda_training.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

CudaDevice& training_gpu() {
  static CudaDevice& one = *new CudaDevice(0);
  return one;
}

std::string why_no_training() {
  static const CudaDevices devices = find_cuda_devices();
  return devices.count > 0 ? "" : "no CUDA device (" + devices.reason + ")";
}

spec::Device device_under_test() {
  return spec::Device::cuda;
}

bool is_slow() {
#if defined(PERFBENCH_EMULATED_DEVICE)
  return true;
#else
  return false;
#endif
}

// Exactly as much memory as the dry walk plans.
Backend make_training_backend(const spec::RunSpec& run, std::int64_t rank) {
  const auto extents = arena_extents(run, rank);
  Backend backend;
  backend.device_memory = make_cuda_backing(training_gpu(), extents.device_bytes);
  backend.host_memory = make_cuda_host_backing(extents.host_bytes);
  backend.ops = cuda::make_cuda_ops(training_gpu(), {.precision = run.precision});
  backend.timeline = make_cuda_timeline(training_gpu());
  return backend;
}

std::vector<float> to_host(const TensorView& values) {
  training_gpu().synchronize();
  const auto count = static_cast<std::size_t>(values.elements());
  std::vector<float> out(count);
  std::vector<Bf16> rounded(values.dtype == DType::bf16 ? count : 0);
  void* const to = rounded.empty() ? static_cast<void*>(out.data()) : rounded.data();
  cuda_check(cudaMemcpy(to, values.data, static_cast<std::size_t>(values.bytes()), cudaMemcpyDeviceToHost),
             "cudaMemcpy");
  std::transform(rounded.begin(), rounded.end(), out.begin(), [](Bf16 x) { return to_f32(x); });
  return out;
}

}  // namespace perfbench::engine
