// A feed-forward block that multiplies every token.
#pragma once

#include <optional>

#include "engine/layers/feed_forward_block.h"
#include "engine/layers/linear.h"

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
  bool has_projections(const Values& v) const override { return v.has(V::up) && (!gate_ || v.has(V::gate)); }
  spec::Saved saved_name(FeedForwardValue value) const override;
  // Products whose activation is their epilogue: of what a product and its adapter make together it is not.
  bool fuses_activation() const {
    return model_.activation == spec::Activation::gelu_tanh && !up_.adapter && !down_.adapter;
  }
  Tensor activated(const Values& v, Tensor product_NF) const;
  Tensor product_buffer() const;
  void backward_up(const LayerWeights& weights, const LayerGradients& gradients, Values& v, TensorView dy_RM) const;

  std::optional<Linear> gate_;  // gated kinds only
  Linear up_;
  Linear down_;
};

}  // namespace perfbench::engine
