// The first half of a decoder layer: what attention adds to the residual stream. Letters as in ops.h, H and K the heads
// of this rank; R its rows of the residual stream (tensor_parallel.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "engine/layers/block_values.h"
#include "engine/layers/joined_linear.h"
#include "engine/layers/layer_shared.h"
#include "engine/layers/linear.h"
#include "engine/layers/norm.h"

namespace perfbench::engine {

enum class AttentionValue {
  input,       // x [R, M]
  statistics,  // [1 or 2, R]
  // Joined, query, key and value side by side, [N, (H + 2 K)*D], after RoPE; with a norm of the heads before both.
  projections,
  query,      // [N, H*D], after RoPE. Joined, query and key are there with a norm of the heads alone, value is not.
  key,        // [N, K*D], after RoPE
  value,      // [N, K*D]
  weights,    // [B, H, T, T], dot_product only
  context,    // [N, H*D]
  logsumexp,  // [B, H, T]
  // With a norm of the heads, what it was given (not joined), and its statistics [1, N*H] and [1, N*K].
  query_before,
  key_before,
  query_statistics,
  key_statistics,
  count
};

class AttentionBlock {
 public:
  using Values = BlockValues<AttentionValue>;
  using Saved = SavedValues<AttentionValue>;

  AttentionBlock(const LayerShared& shared, const LayerUnits& units);
  std::size_t parameters() const;
  std::size_t adapter_parameters() const;

  // Every value that is missing, in the order of the forward pass. The forward pass itself is this on values of which
  // only the input is there, so that what is computed again has the same bits.
  void compute(const LayerWeights& weights, Values& v) const;
  // The output projection [R, M]: the input is still to be added.
  Tensor project(const LayerWeights& weights, const Values& v) const;
  void put_away(std::initializer_list<AttentionValue> names, Values& v, Saved& saved) const;
  // dx_RM comes as the gradient by the residual sum and becomes the gradient by the block's input.
  void backward(const LayerWeights& weights, const LayerGradients& gradients, Values& v, TensorView dx_RM) const;

 private:
  using V = AttentionValue;
  static constexpr auto kPart = FlopPart::attention_projection;

  static spec::Saved saved_name(AttentionValue value);
  spec::SavePlace place_of(AttentionValue value) const;
  TensorView normalised(const LayerWeights& weights, Values& v, TensorView buffer) const;
  void compute_projections(const LayerWeights& weights, Values& v) const;
  // What the projections give, and what attention reads.
  static constexpr std::size_t kQuery = 0, kKey = 1, kValue = 2;
  AttentionValue apart(std::size_t member) const;
  RowsView projected(const Values& v, std::size_t member) const;
  RowsView query_of(const Values& v) const { return query_norm_ ? v[V::query].view() : projected(v, kQuery); }
  RowsView key_of(const Values& v) const { return key_norm_ ? v[V::key].view() : projected(v, kKey); }
  void rotate(RowsView x, Direction direction) const;
  // Queries or keys, where their heads have a norm.
  struct NormedHeads {
    const std::optional<Norm>& norm;
    std::size_t member;
    AttentionValue statistics;
    AttentionValue after;
    const char* name;
  };
  NormedHeads queries() const { return {query_norm_, kQuery, V::query_statistics, V::query, "query"}; }
  NormedHeads keys() const { return {key_norm_, kKey, V::key_statistics, V::key, "key"}; }
  void normalise(const LayerWeights& weights, Values& v, const NormedHeads& heads) const;
  // The gradient by what the norm made of a projection becomes the one by the projection.
  void backward_heads(const LayerWeights& weights, const LayerGradients& gradients, Values& v, const NormedHeads& heads,
                      RowsView d) const;
  // [H, T], or nothing: few enough numbers to be made again where they are needed.
  Tensor bias_by_distance(const LayerWeights& weights) const;
  // `d`: the gradients by what attention reads.
  void backward_attention(const LayerWeights& weights, const LayerGradients& gradients, const Values& v,
                          TensorView dcontext, const JoinedLinear::Outputs& d) const;
  // `d`: the gradients by what the projections give.
  void backward_projections(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                            const JoinedLinear::Outputs& d, TensorView dx_RM) const;
  std::string named(const char* what) const { return name_ + "." + what; }

  const LayerShared& shared_;
  const spec::ModelSpec& model_;
  std::string name_;
  AttentionDims dims_;  // of this rank's heads
  Norm norm_;
  // Where every rank holds all key and value heads: whole, else absent.
  std::optional<Linear> all_keys_;
  std::optional<Linear> all_values_;
  JoinedLinear projections_;  // query, and key and value of this rank's heads
  Linear out_;
  std::optional<Norm> query_norm_;  // of every head
  std::optional<Norm> key_norm_;
  std::optional<ParameterPlace> relative_bias_;  // [buckets, H]
};

}  // namespace perfbench::engine
