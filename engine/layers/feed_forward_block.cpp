#include "engine/layers/feed_forward_block.h"

#include <utility>

#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

FeedForwardBlock::FeedForwardBlock(const LayerShared& shared, const LayerUnits& units)
    : shared_(shared), model_(shared.run.model), name_(units.layer.name), norm_(units.layer, "mlp_norm") {}

void FeedForwardBlock::put_away(std::initializer_list<FeedForwardValue> names, Values& v, Saved& saved) const {
  for (const auto name : names) {
    const auto place = shared_.remat[saved_name(name)];
    const auto value = name == V::gate_up ? "mlpwi_0+mlpwi_1" : spec::enum_name(saved_name(name));
    note_intermediate(shared_.context, value, v[name], name_, place);
    saved.put_away(name, std::move(v[name]), place, shared_.context);
  }
}

Tensor FeedForwardBlock::normalise(const LayerWeights& weights, Values& v, TensorView missing_RM) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  const TensorView input_RM = v[V::input];
  const bool has_statistics = v.has(V::statistics);
  if (has_statistics && has_projections(v)) {
    // The policy keeps values after the norm but not the sum before it, so there is no norm that could add the sum.
    if (missing_RM.defined()) context.ops.add(input_RM, missing_RM, input_RM);
    return {};
  }
  Tensor normed = tp.buffer(named("mlp_norm"));
  if (!has_statistics) v[V::statistics] = norm_statistics(context, model_, named("mlp_statistics"), tp.rows());
  NormForwardArgs args =
      norm_forward_args(model_, weights.layer, norm_, tp.rows_of(normed), v[V::statistics], input_RM);
  args.residual_NM = missing_RM;
  if (has_statistics) {
    context.ops.norm_apply(args);
  } else {
    context.ops.norm_forward(args);
  }
  return normed;
}

TensorView FeedForwardBlock::normalise_again(const LayerWeights& weights, const Values& v, TensorView buffer) const {
  const auto& tp = shared_.tensor_parallel;
  shared_.context.ops.norm_apply(
      norm_forward_args(model_, weights.layer, norm_, tp.rows_of(buffer), v[V::statistics], v[V::input]));
  return tp.gather(buffer);
}

void FeedForwardBlock::backward_norm(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                                     TensorView dnormed_RM, TensorView dy_RM) const {
  norm_backward(shared_.context, model_, weights.layer, gradients.layer, norm_,
                {.dx = dy_RM, .dy = dnormed_RM, .x = v[V::input], .statistics = v[V::statistics]}, Write::accumulate);
  v[V::input].reset();
  v[V::statistics].reset();
}

}  // namespace perfbench::engine
