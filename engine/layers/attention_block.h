// The first half of a decoder layer: what attention adds to the residual stream. Letters are those of ops.h; H and K
// are the heads of this rank, R its rows of the residual stream (tensor_parallel.h).
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
  // If joined: query, key and value side by side, [N, (H + 2 K)*D], after RoPE; before norm and RoPE if heads have a
  // norm.
  projections,
  // [N, H*D], after RoPE. If joined, query and key exist only if heads have a norm, and value does not exist.
  query,
  key,        // [N, K*D], after RoPE
  value,      // [N, K*D]
  weights,    // [B, H, T, T], dot_product only
  context,    // [N, H*D]
  logsumexp,  // [B, H, T]
  // If heads have a norm: its inputs (unless joined), and its statistics [1, N*H] and [1, N*K].
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

  // Computes every missing value, in the order of the forward pass. The forward pass itself calls this with only the
  // input present, so recomputed values have the same bits.
  void compute(const LayerWeights& weights, Values& v) const;
  // The output projection [R, M], to which the input must still be added.
  Tensor project(const LayerWeights& weights, const Values& v) const;
  void put_away(std::initializer_list<AttentionValue> names, Values& v, Saved& saved) const;
  // On entry dx_RM is the gradient of the residual sum, on return the gradient of the block's input.
  void backward(const LayerWeights& weights, const LayerGradients& gradients, Values& v, TensorView dx_RM) const;

 private:
  using V = AttentionValue;
  static constexpr auto kPart = FlopPart::attention_projection;

  static spec::Saved saved_name(AttentionValue value);
  spec::SavePlace place_of(AttentionValue value) const;
  TensorView normalised(const LayerWeights& weights, Values& v, TensorView buffer) const;
  void compute_projections(const LayerWeights& weights, Values& v) const;
  // The projections' outputs, which attention reads.
  static constexpr std::size_t kQuery = 0, kKey = 1, kValue = 2;
  AttentionValue apart(std::size_t member) const;
  RowsView projected(const Values& v, std::size_t member) const;
  RowsView query_of(const Values& v) const { return query_norm_ ? v[V::query].view() : projected(v, kQuery); }
  RowsView key_of(const Values& v) const { return key_norm_ ? v[V::key].view() : projected(v, kKey); }
  void rotate(RowsView x, Direction direction) const;
  // Queries or keys, if their heads have a norm.
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
  // Turns the gradient of the norm's output into that of its input, the projection.
  void backward_heads(const LayerWeights& weights, const LayerGradients& gradients, Values& v, const NormedHeads& heads,
                      RowsView d) const;
  // [H, T], or empty without a relative bias: so few numbers that they are recomputed where they are needed.
  Tensor bias_by_distance(const LayerWeights& weights) const;
  // `d` has the gradients of the values that attention reads.
  void backward_attention(const LayerWeights& weights, const LayerGradients& gradients, const Values& v,
                          TensorView dcontext, const JoinedLinear::Outputs& d) const;
  // `d` has the gradients of the projections' outputs.
  void backward_projections(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                            const JoinedLinear::Outputs& d, TensorView dx_RM) const;
  std::string named(const char* what) const { return name_ + "." + what; }

  const LayerShared& shared_;
  const spec::ModelSpec& model_;
  std::string name_;
  AttentionDims dims_;  // heads of this rank
  Norm norm_;
  // The whole key projection if every rank has all key and value heads; else absent.
  std::optional<Linear> all_keys_;
  std::optional<Linear> all_values_;
  JoinedLinear projections_;  // the query, and the key and value of this rank's heads
  Linear out_;
  std::optional<Norm> query_norm_;  // norm of every head
  std::optional<Norm> key_norm_;
  std::optional<ParameterPlace> relative_bias_;  // [buckets, H]
};

}  // namespace perfbench::engine
