// A feed-forward block through which every token passes.
#pragma once

#include "engine/layers/feed_forward_block.h"
#include "engine/layers/joined_linear.h"

namespace perfbench::engine {

class DenseFeedForward final : public FeedForwardBlock {
 public:
  DenseFeedForward(const LayerShared& shared, const LayerUnits& units);

  std::size_t parameters() const override;
  std::size_t adapter_parameters() const override;
  bool has_experts() const override { return false; }
  Tensor compute(const LayerWeights& weights, Values& v, Tensor normed) const override;
  Tensor finish(const LayerWeights& weights, Values& v, Tensor product_NF, Saved& saved) const override;
  void backward(const LayerWeights& weights, const LayerGradients& gradients, Values& v, Tensor product_NF,
                TensorView dy_RM) const override;

 private:
  bool has_projections(const Values& v) const override {
    return in_.is_joined() ? v.has(V::gate_up) : v.has(V::up) && (!gated() || v.has(V::gate));
  }
  spec::Saved saved_name(FeedForwardValue value) const override;
  bool gated() const { return spec::is_gated(model_.activation); }
  const Linear& up() const { return in_.member(gated() ? 1 : 0); }
  // Whether the activation is the epilogue of the product. Not with an adapter: the activation must be applied to the
  // sum of both products.
  bool fuses_activation() const {
    return model_.activation == spec::Activation::gelu_tanh && !up().adapter && !down_.adapter;
  }
  // Gate and up, or only up; only those that exist.
  JoinedLinear::Outputs projected(const Values& v) const;
  RowsView gate_of(const Values& v) const { return gated() ? projected(v).members[0] : RowsView(); }
  RowsView up_of(const Values& v) const { return projected(v).members[gated() ? 1 : 0]; }
  Tensor activated(const Values& v, Tensor product_NF) const;
  Tensor product_buffer() const;
  void backward_up(const LayerWeights& weights, const LayerGradients& gradients, Values& v, TensorView dy_RM) const;

  JoinedLinear in_;  // gate and up of gated kinds, else up
  Linear down_;
};

}  // namespace perfbench::engine
