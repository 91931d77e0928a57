#include "engine/layers/dense_feed_forward.h"

#include <utility>

#include "engine/core/error.h"
#include "engine/layers/dropout.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

JoinedLinear feed_forward_projections(const LayerShared& shared, const LayerUnits& units) {
  const Linear up(units, "up");
  if (!spec::is_gated(shared.run.model.activation)) return {{up}, JoinedLinear::Products::apart};
  const auto products = shared.run.fused_mlp ? products_of(shared, {spec::Saved::mlpwi_0, spec::Saved::mlpwi_1})
                                             : JoinedLinear::Products::apart;
  return {{Linear(units, "gate"), up}, products};
}

}  // namespace

DenseFeedForward::DenseFeedForward(const LayerShared& shared, const LayerUnits& units)
    : FeedForwardBlock(shared, units), in_(feed_forward_projections(shared, units)), down_(units, "down") {}

std::size_t DenseFeedForward::parameters() const {
  return norm_.parameters() + in_.parameters() + down_.parameters();
}

std::size_t DenseFeedForward::adapter_parameters() const {
  return in_.adapter_parameters() + down_.adapter_parameters();
}

spec::Saved DenseFeedForward::saved_name(FeedForwardValue value) const {
  using spec::Saved;
  switch (value) {
    case V::input:
      return Saved::out_proj;
    case V::statistics:
      return Saved::norm_statistics;
    case V::gate_up:  // the policy gives both the same place
    case V::gate:
      return Saved::mlpwi_0;
    case V::up:
      break;
    default:
      throw LogicFault("a dense feed-forward block has no such value");
  }
  // Policies call the only input projection of an un-gated block the first one.
  return gated() ? Saved::mlpwi_1 : Saved::mlpwi_0;
}

JoinedLinear::Outputs DenseFeedForward::projected(const Values& v) const {
  if (in_.is_joined()) return in_.side_by_side(v[V::gate_up].view());
  if (!gated()) return {.all = {}, .members = {v[V::up].view()}};
  return {.all = {}, .members = {v[V::gate].view(), v[V::up].view()}};
}

Tensor DenseFeedForward::compute(const LayerWeights& weights, Values& v, Tensor normed) const {
  if (has_projections(v)) return {};
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  const TensorView normed_NM = tp.gather(normed.view());
  if (fuses_activation()) {
    v[V::up] = context.activation(named("mlpwi_0"), Shape{tp.tokens(), up().outputs()});
    Tensor product_NF = product_buffer();
    linear_gelu_forward(context, weights, up(), product_NF, v[V::up], normed_NM, kPart);
    return product_NF;
  }
  JoinedLinear::Outputs missing;
  if (in_.is_joined()) {
    v[V::gate_up] = context.activation(named("mlpwi"), Shape{tp.tokens(), in_.outputs()});
    missing = projected(v);
  } else {
    const auto make = [&](FeedForwardValue value, const char* name, std::size_t member) {
      if (v.has(value)) return;
      v[value] = context.activation(named(name), Shape{tp.tokens(), in_.member(member).outputs()});
      missing.members[member] = v[value].view();
    };
    if (gated()) make(V::gate, "mlpwi_0", 0);
    make(V::up, gated() ? "mlpwi_1" : "mlpwi_0", gated() ? 1 : 0);
  }
  in_.forward(context, weights, missing, normed_NM, kPart);
  return {};
}

Tensor DenseFeedForward::product_buffer() const {
  return shared_.context.workspace(named("mlp_product"), Shape{shared_.tensor_parallel.tokens(), up().outputs()});
}

// Writes to the buffer, which is allocated if it does not exist.
Tensor DenseFeedForward::activated(const Values& v, Tensor product_NF) const {
  if (!product_NF.defined()) product_NF = product_buffer();
  shared_.context.ops.activation_forward(
      {.product_NF = product_NF, .gate_NF = gate_of(v), .up_NF = up_of(v), .kind = model_.activation});
  return product_NF;
}

Tensor DenseFeedForward::finish(const LayerWeights& weights, Values& v, Tensor product_NF, Saved& saved) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  put_away({V::statistics}, v, saved);
  if (!product_NF.defined()) product_NF = activated(v, {});
  put_away({V::gate_up, V::gate, V::up}, v, saved);
  Tensor y_RM = context.activation(named("layer_output"), Shape{tp.rows(), model_.d_model});
  PartialSums sums(context, tp, named("down_parts"), y_RM);
  linear_forward(context, weights, down_, sums.tokens_NM(), product_NF, kPart, bias_of(tp));
  sums.finish();
  drop_addition(shared_, named("feed_forward"), y_RM);
  // The following norm belongs to the next layer: its weights are in another unit, it has its own recording, and this
  // layer's policy decides where the sum is kept. So the sum is a separate pass here.
  context.ops.add(y_RM, v[V::input], y_RM);
  put_away({V::input}, v, saved);
  return y_RM;
}

void DenseFeedForward::backward(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                                Tensor product_NF, TensorView dy_RM) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  // Recomputed even if the projection has just returned it: that one was made from the sum before its rounding, and
  // policies that kept the rounded sum could not have the same bits.
  product_NF = activated(v, std::move(product_NF));
  {
    Tensor dropped_dy;
    Tensor gathered_dy;
    const TensorView dy_NM = tp.gather(drop_addition_backward(shared_, named("feed_forward"), dy_RM, dropped_dy),
                                       gathered_dy, named("dlayer_output"));
    const OutputGradient d =
        linear_backward_weight(context, weights, gradients, down_, dy_NM, product_NF, kPart, bias_of(tp));
    // The product is no longer needed: its gradient, or that of its inputs, takes its buffer.
    if (fuses_activation()) {
      linear_gelu_backward_input(context, weights, down_, product_NF, v[V::up], d, kPart);
    } else {
      linear_backward_input(context, weights, down_, product_NF, d, Write::overwrite, kPart);
    }
  }
  if (fuses_activation()) {
    v[V::up] = std::move(product_NF);
  } else {
    context.ops.activation_backward(
        {.gate_NF = gate_of(v), .up_NF = up_of(v), .dproduct_NF = product_NF, .kind = model_.activation});
    product_NF.reset();
  }
  backward_up(weights, gradients, v, dy_RM);
}

// On return gate and up hold the gradients of the projections.
void DenseFeedForward::backward_up(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                                   TensorView dy_RM) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  const Tensor buffer = tp.buffer(named("mlp_norm"));
  const TensorView rows_RM = tp.rows_of(buffer);
  const TensorView normed_NM = normalise_again(weights, v, buffer);
  const auto d = projected(v);
  const auto made = in_.backward_weight(context, weights, gradients, d, normed_NM, kPart);
  if (gradients.last_reader == LastReader::feed_forward) return;
  // This was the last read of the normalised input: its gradient goes to its rows.
  PartialSums sums(context, tp, named("dmlp_norm"), rows_RM, buffer);
  in_.backward_input(context, weights, sums.tokens_NM(), made, kPart);
  v[V::gate_up].reset();
  v[V::gate].reset();
  v[V::up].reset();
  sums.finish();
  backward_norm(weights, gradients, v, rows_RM, dy_RM);
}

}  // namespace perfbench::engine
