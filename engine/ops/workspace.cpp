#include "engine/ops/workspace.h"

#include <algorithm>

#include "workloads/spec/run_spec.h"

namespace perfbench::engine::workspace {
namespace {

using spec::divide_up;

// The transposed operands of linear layers in precision fp8: two for the weights' gradient, one for the input's
// gradient.
std::int64_t float8_matmul_bytes(const spec::RunSpec& run) {
  if (run.precision != spec::Precision::fp8) return 0;
  const auto& model = run.model;
  const std::int64_t tokens = run.microbatch() * run.seq_len;
  const std::int64_t ranks = run.mesh.tp();
  const std::int64_t hidden = divide_up(model.d_ff, ranks);
  std::int64_t most = 0;
  for (const auto width : {qkv_width(attention_of_rank(run)), model.n_heads / ranks * model.head_dim, 2 * hidden}) {
    most = std::max({most, transpose_bytes(tokens * width) + transpose_bytes(tokens * model.d_model),
                     transpose_bytes(width * model.d_model)});
  }
  return kMatmulBytes + most;
}

}  // namespace

std::int64_t attention_bytes(const spec::RunSpec& run) {
  const AttentionDims dims = attention_of_rank(run);
  if (run.attention == spec::AttentionKind::dot_product) return dot_product_bytes(dims);
  // Libraries compute it only in bf16, without a bias and with one document per row (cuda/operations/attention.cpp).
  const bool bf16 = spec::computes_in_bf16(run.precision);
  if (run.model.position.kind == spec::PositionKind::t5_relative_bias) {
    return flash_bias_bytes(dims, bf16 ? DType::bf16 : DType::f32);
  }
  const bool own = run.attention_kernel == spec::AttentionChoice::own || run.packs_documents();
  if (!bf16 || own) return flash_bytes(dims);
  return std::max(library_forward_bytes(dims), split_attention_backward(dims, summation_of(run)).workspace_bytes);
}

std::int64_t bytes(const spec::RunSpec& run) {
  if (run.device != spec::Device::cuda) return cpu::bytes(run);
  const auto& model = run.model;
  const std::int64_t tokens = run.microbatch() * run.seq_len;
  const std::int64_t ranks = run.mesh.tp();
  const std::int64_t hidden = divide_up(model.d_ff, ranks);
  const std::int64_t widest_bias = std::max({model.d_model, 2 * hidden, qkv_width(attention_of_rank(run))});
  const std::int64_t of_heads = model.qk_norm == spec::QkNorm::none ? 0 : norm_backward_bytes(model.head_dim);
  return std::max({kMatmulBytes, sum_bytes(kListedOperands), bias_backward_bytes(widest_bias),
                   norm_backward_bytes(model.d_model), of_heads, embedding_sort_bytes(tokens), routing_bytes(tokens),
                   attention_bytes(run), float8_matmul_bytes(run)});
}

}  // namespace perfbench::engine::workspace
