// Transfers between device and pinned host memory, on separate streams.
#include "engine/cuda/cuda_event.h"
#include "engine/ops/cuda/cuda_ops.h"

namespace perfbench::engine::cuda {
namespace {

class Transfer final : public Pending::State {
 public:
  Transfer(CudaEvent&& ended, cudaStream_t compute) : ended_(std::move(ended)), compute_(compute) {}
  void wait() override { ended_.hold(compute_); }

 private:
  CudaEvent ended_;
  cudaStream_t compute_;
};

}  // namespace

std::unique_ptr<Pending::State> CudaOps::do_transfer(TensorView out, TensorView in) {
  CudaEvent event;
  event.record(stream());
  event.hold(device_.copies());
  cuda_check(
      cudaMemcpyAsync(out.data, in.data, static_cast<std::size_t>(in.bytes()), cudaMemcpyDefault, device_.copies()),
      "cudaMemcpyAsync");
  CudaEvent ended;
  ended.record(device_.copies());
  return std::make_unique<Transfer>(std::move(ended), stream());
}

}  // namespace perfbench::engine::cuda
