// Operands in managed memory, which the host reads after waiting for the device.
#include <cuda_runtime_api.h>

#include "engine/cuda/cuda_error.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "tests/engine/ops_under_test.h"

namespace perfbench::engine {
namespace {

// More than any shape of these tests needs (engine/ops/workspace.h).
constexpr std::int64_t kWorkspaceBytes = std::int64_t{80} << 20;

struct Gpu {
  CudaDevice device{0};
  std::unique_ptr<ArenaBacking> memory = make_cuda_backing(device, kWorkspaceBytes);
  TensorView workspace{memory->at(0, kWorkspaceBytes), DType::f32, Shape{kWorkspaceBytes / size_bytes(DType::f32)}};
};

// Never destroyed: the runtime may be gone before static objects are destroyed.
Gpu& gpu() {
  static Gpu& one = *new Gpu;
  return one;
}

}  // namespace

std::string why_no_ops() {
  static const CudaDevices devices = find_cuda_devices();
  return devices.count > 0 ? "" : "no CUDA device (" + devices.reason + ")";
}

std::unique_ptr<Ops> make_ops_under_test() {
  // Our own kernels: cuDNN's attention has separate tests, and gives NaN for huge scores (seen in 9.14 on an H200).
  auto ops = cuda::make_cuda_ops(gpu().device, {.attention = spec::AttentionChoice::own});
  ops->use_workspace(gpu().workspace);
  return ops;
}

bool rounds_flash_weights() {
  return true;
}

bool multiplies_odd_8_bit_rows() {
  return false;
}

bool rounds_before_adding() {
  return true;
}

bool cuts_8_bit_sums() {
  return true;
}

bool multiplies_rows_apart_alike() {
  return false;
}

void in_every_circumstance(const std::function<void(const std::string&)>& f) {
  for (int time = 1; time <= 3; ++time) f("time " + std::to_string(time));
}

void in_circumstances_of_products(const std::function<void(const std::string&)>& f) {
  for (int time = 1; time <= 3; ++time) f("any time");
}

void* allocate_operand(std::size_t bytes) {
  void* memory = nullptr;
  cuda_check(cudaMallocManaged(&memory, bytes == 0 ? 1 : bytes), "cudaMallocManaged");
  return memory;
}

void free_operand(void* memory) {
  cudaFree(memory);
}

void wait_for_ops() {
  gpu().device.synchronize();
}

}  // namespace perfbench::engine
