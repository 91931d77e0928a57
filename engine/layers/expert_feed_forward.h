// A feed-forward block of experts, divided over the ranks along ep: each token goes to a few of them. Which ones is
// chosen by every rank along tp alike, from the same logits; each multiplies by its part of their hidden width, and
// what it makes of a token, its gradient and that of the gates are parts of sums over tp, as of a dense block.
#pragma once

#include <optional>
#include <string>

#include "engine/layers/feed_forward_block.h"
#include "engine/layers/linear.h"

namespace perfbench::engine {

class ExpertFeedForward final : public FeedForwardBlock {
 public:
  ExpertFeedForward(const LayerShared& shared, const LayerUnits& units);

  std::size_t parameters() const override;
  std::size_t adapter_parameters() const override { return 0; }
  bool has_experts() const override { return true; }
  Tensor compute(const LayerWeights& weights, Values& v, Tensor normed) const override;
  Tensor finish(const LayerWeights& weights, Values& v, Tensor product, Saved& saved) const override;
  void backward(const LayerWeights& weights, const LayerGradients& gradients, Values& v, Tensor product,
                TensorView dy_RM) const override;

 private:
  bool has_projections(const Values& v) const override { return v.has(V::up) && (!gate_ || v.has(V::gate)); }
  spec::Saved saved_name(FeedForwardValue value) const override;

  void make_logits(const LayerWeights& weights, Values& v, TensorView normed_RM) const;
  TensorView logits_NE(const Values& v) const { return shared_.tensor_parallel.tokens_of(v[V::logits]); }
  void route(const LayerWeights& weights, Values& v, TensorView normed_RM) const;
  // The rows [Q, M] of tokens, times their gates where those are given, at the ranks of their experts.
  Tensor sent(const Values& v, TensorView x_NM, TensorView gates_NC, const char* name) const;
  // Each part of the rows at the rank along ep that it is for.
  Tensor exchanged(Tensor rows, const char* name) const;
  Tensor activated(const Values& v) const;
  // Down projection [Q, M], where the experts are.
  Tensor made_by_experts(const LayerWeights& weights, const Values& v, TensorView product_QF) const;
  // `dgates_NC` are this rank's part of the gradient by the gates.
  void backward_up(const LayerWeights& weights, const LayerGradients& gradients, Values& v, TensorView dgates_NC,
                   TensorView dy_RM) const;

  // y[Q, O] = x[Q, I] W^T of each row's expert, and the two products of its backward pass.
  void product(const LayerWeights& weights, const Values& v, const ParameterPlace& weight, TensorView y,
               TensorView x) const;
  void backward_weight(const LayerGradients& gradients, const Values& v, const ParameterPlace& weight, TensorView dy,
                       TensorView x) const;
  void backward_input(const LayerWeights& weights, const Values& v, const ParameterPlace& weight, TensorView dx,
                      TensorView dy, Write write) const;
  ExpertProductArgs product_args(const Values& v) const;

  const spec::MoeSpec& moe_;
  RoutingRule rule_;
  Linear router_;
  // [X, out, in]
  std::optional<ParameterPlace> gate_;  // gated kinds only
  ParameterPlace up_;
  ParameterPlace down_;
};

}  // namespace perfbench::engine
