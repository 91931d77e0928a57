// The parts of CudaOps that are not kernels, with providers of plain loops.
#include "engine/ops/cuda/cuda_ops.h"

#include "engine/core/error.h"
#include "tests/engine/emulation/twins/plain_providers.h"

namespace perfbench::engine::cuda {

CudaOps::CudaOps(const CudaDevice& device, spec::Precision)
    : device_(device),
      recordings_(device.compute()),
      matmul_(std::make_unique<MatmulProvider>()),
      attention_(std::make_unique<AttentionProvider>()) {}

CudaOps::~CudaOps() = default;

bool CudaOps::emulates(spec::Precision) const {
  return true;
}

void* CudaOps::workspace(std::int64_t bytes, std::string_view op) const {
  if (bytes <= workspace_.bytes()) return workspace_.data;
  throw LogicFault(std::string(op) + " needs " + std::to_string(bytes) + " bytes of workspace, the plan has " +
                   std::to_string(workspace_.bytes()));
}

void CudaOps::do_matmul(const MatmulArgs& args) {
  matmul_->multiply(args, stream());
}

void CudaOps::do_attention_forward(const AttentionForwardArgs& args) {
  attention_->forward(args, stream());
}

void CudaOps::do_attention_backward(const AttentionBackwardArgs& args) {
  attention_->backward(args, stream());
}

std::unique_ptr<Ops> make_cuda_ops(const CudaDevice& device, spec::Precision precision) {
  return std::make_unique<CudaOps>(device, precision);
}

}  // namespace perfbench::engine::cuda
