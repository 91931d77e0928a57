// Chooses between a library and our own kernels for an attention.
#include "engine/core/error.h"
#include "engine/ops/cuda/attention/attention_dot_product.h"
#include "engine/ops/cuda/attention/attention_flash.h"
#include "engine/ops/cuda/attention/attention_provider.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

bool empty(const AttentionDims& d) {
  return d.batch == 0 || d.seq_len == 0;
}

// The forward pass is not divided, because its workspace hardly grows.
AttentionSplit split_attention(Direction direction, const AttentionDims& d, Summation summation,
                               const AttentionPartLimits& limits) {
  if (direction == Direction::backward) return split_attention_backward(d, summation, limits);
  return {.sequences = d.batch, .kv_heads = d.n_kv_heads, .workspace_bytes = workspace::library_forward_bytes(d)};
}

}  // namespace

// Computes nothing unless all parts can be computed: all but the last ones have the layout of the first.
template <class Args>
AttentionProvider::Refusal CudaOps::by_provider(Direction direction, const Args& args) const {
  if (attention_choice_ == AttentionChoice::own) return "our own kernels were requested";
  if (attention_ == nullptr) return "built without cuDNN";
  if (args.query.dtype != DType::bf16) return "cuDNN computes attention only in bf16";
  if (args.bias_HT.defined()) return "the plan for cuDNN has no bias by distance";
  if (args.first_N.defined()) return "the plan for cuDNN has no documents in a row";
  const AttentionSplit split = split_attention(direction, args.dims, summation_, attention_parts_);
  if (!split.refusal.empty()) return split.refusal;
  const auto parts = parts_of(args.dims, split);
  for (const AttentionPart& part : {parts.front(), parts.back()}) {
    const auto refusal = attention_->prepare(direction, layout_of(args, part), split.workspace_bytes);
    if (refusal.has_value()) return refusal;
  }
  void* const scratch = workspace(split.workspace_bytes, "attention");
  for (const AttentionPart& part : parts) {
    attention_->compute(direction, layout_of(args, part), addresses_of(args, part), scratch);
  }
  return std::nullopt;
}

// Returns whether the library computed it.
template <class Args>
bool CudaOps::by_library(Direction direction, const Args& args) {
  const auto refusal = by_provider(direction, args);
  if (refusal.has_value() && attention_choice_ == AttentionChoice::cudnn) {
    throw EngineError(EngineExit::infeasible, "attention by cuDNN was requested: " + *refusal);
  }
  note_attention(direction, refusal);
  return !refusal.has_value();
}

void CudaOps::note_attention(Direction direction, const AttentionProvider::Refusal& refusal) {
  auto& noted = attention_noted_.try_emplace(direction).first->second;
  if (!noted.has_value()) noted = refusal;
}

std::vector<spec::AttentionKernel> CudaOps::attention_kernels() const {
  std::vector<spec::AttentionKernel> kernels;
  for (const auto& [direction, refusal] : attention_noted_) {
    kernels.push_back({.direction = direction == Direction::forward ? spec::AttentionDirection::forward
                                                                    : spec::AttentionDirection::backward,
                       .computed_by = refusal.has_value() ? spec::ComputedBy::own : spec::ComputedBy::cudnn,
                       .reason = refusal.value_or("")});
  }
  return kernels;
}

DotProductTools CudaOps::dot_product_tools(const AttentionDims& dims) {
  return {*matmul_, [this](RowsView out, TensorView in) { round_rows(out, in); }, stream(),
          workspace(workspace::dot_product_bytes(dims), "attention")};
}

void CudaOps::do_attention_forward(const AttentionForwardArgs& args) {
  if (empty(args.dims)) return;
  if (args.kind == spec::AttentionKind::dot_product) {
    return dot_product_forward(args, dot_product_tools(args.dims));
  }
  if (by_library(Direction::forward, args)) return;
  flash_forward(args, stream());
}

void CudaOps::do_attention_backward(const AttentionBackwardArgs& args) {
  if (empty(args.dims)) return;
  if (args.kind == spec::AttentionKind::dot_product) {
    return dot_product_backward(args, dot_product_tools(args.dims));
  }
  if (by_library(Direction::backward, args)) return;
  const std::int64_t bytes = args.bias_HT.defined() ? workspace::flash_bias_bytes(args.dims, args.query.dtype)
                                                    : workspace::flash_bytes(args.dims);
  flash_backward(args, workspace(bytes, "attention"), stream());
}

}  // namespace perfbench::engine::cuda
