// The architecture of a decoder-only language model: everything that decides parameters, FLOPs and memory, without
// anything about how it is run. Families are expressed by these fields, not by code per model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

enum class NormKind { layernorm, rmsnorm };
template <>
struct EnumNames<NormKind> {
  static constexpr std::array kNames{std::pair{NormKind::layernorm, "layernorm"},
                                     std::pair{NormKind::rmsnorm, "rmsnorm"}};
};

// gelu_tanh, gelu (erf) and relu are un-gated (up, down); swiglu and geglu are gated (gate, up, down):
// down(silu(gate(x)) * up(x)), down(gelu_tanh(gate(x)) * up(x)).
enum class Activation { gelu_tanh, gelu, relu, swiglu, geglu };
template <>
struct EnumNames<Activation> {
  static constexpr std::array kNames{std::pair{Activation::gelu_tanh, "gelu_tanh"}, std::pair{Activation::gelu, "gelu"},
                                     std::pair{Activation::relu, "relu"}, std::pair{Activation::swiglu, "swiglu"},
                                     std::pair{Activation::geglu, "geglu"}};
};
constexpr bool is_gated(Activation a) {
  return a == Activation::swiglu || a == Activation::geglu;
}

// qkv: biases on the query, key and value projections only (Qwen2).
enum class BiasKind { none, all, qkv };
template <>
struct EnumNames<BiasKind> {
  static constexpr std::array kNames{std::pair{BiasKind::none, "none"}, std::pair{BiasKind::all, "all"},
                                     std::pair{BiasKind::qkv, "qkv"}};
};

// head: an rmsnorm on each query and key head before positions are applied, with weights shared by the layer's heads
// (Qwen3).
enum class QkNorm { none, head };
template <>
struct EnumNames<QkNorm> {
  static constexpr std::array kNames{std::pair{QkNorm::none, "none"}, std::pair{QkNorm::head, "head"}};
};

enum class PositionKind { learned, rope, t5_relative_bias };
template <>
struct EnumNames<PositionKind> {
  static constexpr std::array kNames{std::pair{PositionKind::learned, "learned"}, std::pair{PositionKind::rope, "rope"},
                                     std::pair{PositionKind::t5_relative_bias, "t5_relative_bias"}};
};

// half: rotates the pairs (i, i + head_dim/2); interleaved: (2i, 2i + 1).
enum class RopeLayout { half, interleaved };
template <>
struct EnumNames<RopeLayout> {
  static constexpr std::array kNames{std::pair{RopeLayout::half, "half"},
                                     std::pair{RopeLayout::interleaved, "interleaved"}};
};

enum class RopeScaling { none, llama3 };
template <>
struct EnumNames<RopeScaling> {
  static constexpr std::array kNames{std::pair{RopeScaling::none, "none"}, std::pair{RopeScaling::llama3, "llama3"}};
};

struct PositionSpec {
  PositionKind kind = PositionKind::rope;
  double rope_theta = 10000.0;
  RopeLayout rope_layout = RopeLayout::half;
  RopeScaling rope_scaling = RopeScaling::none;
  double rope_factor = 8.0;
  double rope_low_freq_factor = 1.0;
  double rope_high_freq_factor = 4.0;
  std::int64_t rope_original_context = 8192;  // tokens
  std::int64_t t5_buckets = 32;
  std::int64_t t5_max_distance = 128;  // tokens

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"kind", "learned, rope or t5_relative_bias"}, self.kind);
    f(Field{"rope_theta", "base of the rotation frequencies", 1.0}, self.rope_theta);
    f(Field{"rope_layout", "which elements of a head are rotated as a pair: half or interleaved"}, self.rope_layout);
    f(Field{"rope_scaling", "none or llama3"}, self.rope_scaling);
    f(Field{"rope_factor", "llama3 scaling: context extension", 1.0}, self.rope_factor);
    f(Field{"rope_low_freq_factor", "llama3 scaling", 0.0}, self.rope_low_freq_factor);
    f(Field{"rope_high_freq_factor", "llama3 scaling", 0.0}, self.rope_high_freq_factor);
    f(Field{"rope_original_context", "llama3 scaling: tokens before extension", 1, 1e8}, self.rope_original_context);
    f(Field{"t5_buckets", "relative position buckets", 1, 1e6}, self.t5_buckets);
    f(Field{"t5_max_distance", "tokens of the last bucket", 1, 1e8}, self.t5_max_distance);
  }
};

// Which choices get a slot first if experts have a capacity. top2_gshard: all first choices, then the second ones;
// topk_softmax: token after token. Their capacities and balancing losses differ too (expert_rows.h,
// engine/ops/expert_operations.h). The gates of a token's choices add up to 1: with top_k 1 the router learns from the
// balancing loss alone.
enum class MoeRouting { top2_gshard, topk_softmax };
template <>
struct EnumNames<MoeRouting> {
  static constexpr std::array kNames{std::pair{MoeRouting::top2_gshard, "top2_gshard"},
                                     std::pair{MoeRouting::topk_softmax, "topk_softmax"}};
};

// n_experts = 0: a dense model.
struct MoeSpec {
  std::int64_t n_experts = 0;
  std::int64_t top_k = 2;
  std::int64_t layer_stride = 1;  // layers 0, stride, 2*stride ... have experts; the others a dense FFN
  std::int64_t d_ff = 0;
  Activation activation = Activation::swiglu;
  MoeRouting routing = MoeRouting::topk_softmax;
  double capacity_factor = 0.0;  // 0: no token is dropped
  double load_balance_weight = 0.0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"n_experts", "experts of a layer, 0 for a dense model", 0, 1e6}, self.n_experts);
    f(Field{"top_k", "experts per token", 1, 1e6}, self.top_k);
    f(Field{"layer_stride", "every n-th layer, from the first, holds experts", 1, 1e4}, self.layer_stride);
    f(Field{"d_ff", "hidden width of one expert", 0, 1e7}, self.d_ff);
    f(Field{"activation", "activation of an expert"}, self.activation);
    f(Field{"routing", "top2_gshard or topk_softmax"}, self.routing);
    f(Field{"capacity_factor",
            "slots per expert over the even share (top2_gshard: of tokens, topk_softmax: of choices), 0 for dropless",
            0.0},
      self.capacity_factor);
    f(Field{"load_balance_weight", "weight of the load-balancing loss", 0.0}, self.load_balance_weight);
  }
};

// Parts of a model that the engine does not implement. Such a model is described and its parameters are counted, but it
// cannot run.
//   norms_after, norms_around   norms behind attention and feed-forward instead of before them; both before and behind
//   projection_norm             an rmsnorm over all query heads together, and one over all key heads
//   soft_caps                   cap * tanh(x / cap) of scores or logits
//   sliding_window              layers that look back over only a few thousand tokens
//   scaled_embedding            embeddings times sqrt(d_model)
enum class MissingBlock { norms_after, norms_around, projection_norm, soft_caps, sliding_window, scaled_embedding };
template <>
struct EnumNames<MissingBlock> {
  static constexpr std::array kNames{std::pair{MissingBlock::norms_after, "norms_after"},
                                     std::pair{MissingBlock::norms_around, "norms_around"},
                                     std::pair{MissingBlock::projection_norm, "projection_norm"},
                                     std::pair{MissingBlock::soft_caps, "soft_caps"},
                                     std::pair{MissingBlock::sliding_window, "sliding_window"},
                                     std::pair{MissingBlock::scaled_embedding, "scaled_embedding"}};
};

struct ModelSpec {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t d_model = 0;
  std::int64_t n_heads = 0;
  std::int64_t n_kv_heads = 0;
  std::int64_t head_dim = 0;  // free: n_heads*head_dim may differ from d_model (seqax)
  std::int64_t d_ff = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_seq_len = 0;  // rows of a learned position table; the default sequence length
  NormKind norm = NormKind::rmsnorm;
  double norm_eps = 1e-5;
  Activation activation = Activation::swiglu;
  BiasKind bias = BiasKind::none;
  QkNorm qk_norm = QkNorm::none;
  bool tied_embedding = false;
  double attention_scale = 0.0;
  PositionSpec position;
  MoeSpec moe;
  double init_std = 0.02;
  std::vector<MissingBlock> needs;

  bool needs_block(MissingBlock block) const { return std::find(needs.begin(), needs.end(), block) != needs.end(); }

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{.name = "name", .help = "name of the model", .presence = Presence::required}, self.name);
    f(Field{"layers", "decoder layers", 1, 1e4, Presence::required}, self.layers);
    f(Field{"d_model", "width of the residual stream", 1, 1e6, Presence::required}, self.d_model);
    f(Field{"n_heads", "query heads", 1, 1e5, Presence::required}, self.n_heads);
    f(Field{"n_kv_heads", "key and value heads", 1, 1e5, Presence::required}, self.n_kv_heads);
    f(Field{"head_dim", "width of one head", 1, 1e5, Presence::required}, self.head_dim);
    f(Field{"d_ff", "hidden width of the feed-forward block", 1, 1e7, Presence::required}, self.d_ff);
    f(Field{"vocab_size", "tokens of the vocabulary", 2, 1e8, Presence::required}, self.vocab_size);
    f(Field{"max_seq_len", "longest sequence in tokens", 1, 1e8, Presence::required}, self.max_seq_len);
    f(Field{"norm", "layernorm or rmsnorm"}, self.norm);
    f(Field{"norm_eps", "epsilon of the norms", 0.0, 1.0}, self.norm_eps);
    f(Field{"activation", "gelu_tanh, gelu, relu, swiglu or geglu"}, self.activation);
    f(Field{"bias", "none, all or qkv"}, self.bias);
    f(Field{"qk_norm", "of queries and keys: none, or an rmsnorm of each head"}.omitted_at_default(), self.qk_norm);
    f(Field{"tied_embedding", "the unembedding is the token embedding"}, self.tied_embedding);
    f(Field{"attention_scale", "factor of the products of queries and keys, 0 for 1/sqrt(head_dim)", 0.0, 1e3}
          .omitted_at_default(),
      self.attention_scale);
    f(Field{"position", "how positions enter"}, self.position);
    f(Field{"moe", "experts"}, self.moe);
    f(Field{"init_std", "standard deviation of the initial weights", 0.0, 100.0}, self.init_std);
    f(Field{"needs", "blocks of the model that the engine does not have"}.omitted_at_default(), self.needs);
  }
};

}  // namespace perfbench::spec
