// A feed-forward block of experts, which are divided over the ranks along ep; each token goes to a few of them. All
// ranks along tp choose the same experts, because they have the same logits. Each multiplies by its part of the
// experts' hidden width. As in a dense block, its results, its gradients and those of the gates are parts of sums over
// tp.
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
  // Sends the rows [Q, M] of tokens, times their gates if given, to the ranks of their experts.
  Tensor sent(const Values& v, TensorView x_NM, TensorView gates_NC, const char* name) const;
  // Exchanges the parts of `rows` along ep: each goes to the rank that it is for.
  Tensor exchanged(Tensor rows, const char* name) const;
  Tensor activated(const Values& v) const;
  // The down projection [Q, M], on the ranks of the experts.
  Tensor made_by_experts(const LayerWeights& weights, const Values& v, TensorView product_QF) const;
  // `dgates_NC` is this rank's part of the gradient of the gates.
  void backward_up(const LayerWeights& weights, const LayerGradients& gradients, Values& v, TensorView dgates_NC,
                   TensorView dy_RM) const;

  // y[Q, O] = x[Q, I] W^T with the weights of each row's expert, and the two products of its backward pass.
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
