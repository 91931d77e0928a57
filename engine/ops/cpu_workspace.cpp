#include "engine/ops/cpu_workspace.h"

#include "engine/ops/attention_parts.h"
#include "workloads/spec/expert_rows.h"

namespace perfbench::engine::workspace::cpu {
namespace {

using spec::divide_up;

// The dimensions of products between the residual stream and something `width` wide, forward and backward.
struct Products {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  DType bias = DType::f32;  // f32 without a bias
  bool trains = true;       // whether the weight has a gradient
};

std::int64_t floats_of_products(const Products& of, std::int64_t d_model, DType operands) {
  const auto floats = [&](const ProductDims& dims, DType bias) { return floats_of<MatmulParts>(dims, operands, bias); };
  return std::max({floats({of.rows, of.width, d_model}, of.bias), floats({of.rows, d_model, of.width}, of.bias),
                   of.trains ? floats({of.width, d_model, of.rows}, DType::f32) : 0});
}

// For products with adapters' inner values, which stand between both sides of a linear layer.
std::int64_t floats_of_adapters(const spec::RunSpec& run, const Products& attention, const Products& feed_forward,
                                DType operands) {
  if (!run.lora.used()) return 0;
  const Products inner{attention.rows, run.lora.rank};
  std::int64_t most = floats_of_products(inner, run.model.d_model, operands);
  if (run.lora.targets != spec::LoraTargets::mlp) {
    most = std::max(most, floats_of_products(inner, attention.width, operands));
  }
  if (run.lora.targets != spec::LoraTargets::attention) {
    most = std::max(most, floats_of_products(inner, feed_forward.width, operands));
  }
  return most;
}

// For B A, which is added to the whole part of a weight that a rank has: for key and value all heads if tp does not
// divide them.
std::int64_t floats_of_merging(const spec::RunSpec& run, const Products& attention, const Products& feed_forward,
                               DType operands) {
  if (!run.lora.merge) return 0;
  const auto floats = [&](std::int64_t width) {
    return floats_of<MatmulParts>(ProductDims{width, run.model.d_model, run.lora.rank}, operands, DType::f32);
  };
  const std::int64_t kv_heads = run.model.n_kv_heads % run.mesh.tp() == 0 ? 0 : run.model.n_kv_heads;
  std::int64_t most = 0;
  if (run.lora.targets != spec::LoraTargets::mlp) {
    most = floats(std::max(attention.width, kv_heads * run.model.head_dim));
  }
  if (run.lora.targets != spec::LoraTargets::attention) most = std::max(most, floats(feed_forward.width));
  return most;
}

}  // namespace

std::int64_t bytes(const spec::RunSpec& run) {
  const auto& model = run.model;
  const DType dtype = spec::computes_in_bf16(run.precision) ? DType::bf16 : DType::f32;
  const DType bias = model.bias == spec::BiasKind::none ? DType::f32 : dtype;
  const std::int64_t tokens = run.microbatch() * run.seq_len;
  const std::int64_t ranks = run.mesh.tp();
  const bool trains = !run.lora.used();
  // Key and value are no wider than the query, and none is wider than the joined product of all three.
  const Products attention{tokens, model.n_heads / ranks * model.head_dim, bias, trains};
  const Products joined_attention{tokens, run.fused_qkv ? qkv_width(attention_of_rank(run)) : 0, bias, trains};
  const Products feed_forward{tokens, divide_up(model.d_ff, ranks), bias, trains};
  const bool joined = run.fused_mlp && spec::is_gated(model.activation);
  const Products joined_feed_forward{tokens, joined ? 2 * feed_forward.width : 0, bias, trains};
  const Products head{std::min(run.loss_chunk_tokens, tokens), divide_up(model.vocab_size, ranks), DType::f32, trains};
  std::int64_t most = std::max(floats_of<NormForwardParts>(model.d_model, dtype),
                               floats_of<NormBackwardParts>(divide_up(tokens, ranks), model.d_model, dtype));
  if (model.qk_norm != spec::QkNorm::none) {  // a head is a row
    const std::int64_t rows = tokens * (model.n_heads / ranks);
    most = std::max({most, floats_of<NormForwardParts>(model.head_dim, dtype),
                     floats_of<NormBackwardParts>(rows, model.head_dim, dtype)});
  }
  for (const auto& products : {attention, joined_attention, feed_forward, joined_feed_forward, head}) {
    most = std::max(most, floats_of_products(products, model.d_model, dtype));
  }
  most = std::max({most, floats_of_adapters(run, attention, feed_forward, dtype),
                   floats_of_merging(run, attention, feed_forward, dtype)});
  if (model.moe.n_experts > 0) {
    const Products experts{spec::most_rows_of_expert(run), divide_up(model.moe.d_ff, ranks), DType::f32, trains};
    const Products router{tokens, model.moe.n_experts, DType::f32, trains};
    most = std::max({most, floats_of_products(experts, model.d_model, dtype),
                     floats_of_products(router, model.d_model, dtype),
                     floats_of<RouteParts>(run.microbatch(), model.moe.n_experts)});
  }
  return most * size_bytes(DType::f32);
}

}  // namespace perfbench::engine::workspace::cpu
