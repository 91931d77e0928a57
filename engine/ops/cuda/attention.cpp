// Who computes an attention.
#include "engine/core/error.h"
#include "engine/ops/cuda/attention_dot_product.h"
#include "engine/ops/cuda/attention_flash.h"
#include "engine/ops/cuda/attention_provider.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

std::int64_t library_scratch_bytes(const AttentionDims& d) {
  return workspace::attention_backward_bytes(d.batch * d.seq_len, d.n_heads, d.head_dim);
}

bool empty(const AttentionDims& d) {
  return d.batch == 0 || d.seq_len == 0;
}

}  // namespace

// Whether the library computes it; `compute` returns its refusal.
template <class F>
bool CudaOps::by_library(const AttentionDims& dims, F&& compute) const {
  if (attention_choice_ == AttentionChoice::own) return false;
  AttentionProvider::Refusal refusal = "built without cuDNN";
  if (attention_ != nullptr) refusal = compute(workspace(library_scratch_bytes(dims), "attention"));
  if (refusal.has_value() && attention_choice_ == AttentionChoice::cudnn) {
    throw EngineError(EngineExit::infeasible, "attention by cuDNN was asked for: " + *refusal);
  }
  return !refusal.has_value();
}

DotProductTools CudaOps::dot_product_tools(const AttentionDims& dims) {
  return {*matmul_, [this](TensorView out, TensorView in) { do_copy(out, in); }, stream(),
          workspace(dot_product_scratch_bytes(dims), "attention")};
}

void CudaOps::do_attention_forward(const AttentionForwardArgs& args) {
  if (empty(args.dims)) return;
  if (args.kind == spec::AttentionKind::dot_product) {
    return dot_product_forward(args, dot_product_tools(args.dims));
  }
  if (by_library(args.dims, [&](void* scratch) { return attention_->forward(args, scratch); })) return;
  flash_forward(args, stream());
}

void CudaOps::do_attention_backward(const AttentionBackwardArgs& args) {
  if (empty(args.dims)) return;
  if (args.kind == spec::AttentionKind::dot_product) {
    return dot_product_backward(args, dot_product_tools(args.dims));
  }
  if (by_library(args.dims, [&](void* scratch) { return attention_->backward(args, scratch); })) return;
  flash_backward(args, workspace(flash_scratch_bytes(args.dims), "attention"), stream());
}

}  // namespace perfbench::engine::cuda
