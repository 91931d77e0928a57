// This backend has no products of 8-bit operands, and nothing that rounds for them: a run that needs either is refused
// before it begins (workloads/spec/validate.h, unsupported).
#include "engine/core/error.h"
#include "engine/ops/cuda/cuda_ops.h"

namespace perfbench::engine::cuda {

void CudaOps::do_quantize(const QuantizeArgs&) {
  throw LogicFault("quantize: the cuda kernels compute on f32 and bf16");
}

void CudaOps::do_update_scales(const UpdateScalesArgs&) {
  throw LogicFault("update_scales: the cuda kernels compute on f32 and bf16");
}

}  // namespace perfbench::engine::cuda
