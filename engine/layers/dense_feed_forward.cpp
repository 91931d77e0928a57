#include "engine/layers/dense_feed_forward.h"

#include <utility>

#include "engine/core/error.h"

namespace perfbench::engine {

DenseFeedForward::DenseFeedForward(const LayerShared& shared, const LayerUnits& units)
    : FeedForwardBlock(shared, units), up_(units, "up"), down_(units, "down") {
  if (spec::is_gated(model_.activation)) gate_.emplace(units, "gate");
}

std::size_t DenseFeedForward::parameters() const {
  return norm_.parameters() + up_.parameters() + down_.parameters() + (gate_ ? gate_->parameters() : 0);
}

std::size_t DenseFeedForward::adapter_parameters() const {
  return up_.adapter_parameters() + down_.adapter_parameters() + (gate_ ? gate_->adapter_parameters() : 0);
}

spec::Saved DenseFeedForward::saved_name(FeedForwardValue value) const {
  using spec::Saved;
  switch (value) {
    case V::input:
      return Saved::out_proj;
    case V::statistics:
      return Saved::norm_statistics;
    case V::gate:
      return Saved::mlpwi_0;
    case V::up:
      break;
    default:
      throw LogicFault("a dense feed-forward block has no such value");
  }
  // The only input projection of an un-gated block is the policies' first.
  return gate_ ? Saved::mlpwi_1 : Saved::mlpwi_0;
}

Tensor DenseFeedForward::compute(const LayerWeights& weights, Values& v, Tensor normed) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  const TensorView normed_NM = normed.defined() ? tp.gather(normed.view()) : TensorView{};
  const auto missing = [&](FeedForwardValue value, const char* name, const Linear& linear) {
    if (v.has(value)) return false;
    v[value] = context.activation(named(name), Shape{tp.tokens(), linear.outputs()});
    return true;
  };
  if (gate_ && missing(V::gate, "mlpwi_0", *gate_)) {
    linear_forward(context, weights, *gate_, v[V::gate], normed_NM, kPart);
  }
  if (!missing(V::up, gate_ ? "mlpwi_1" : "mlpwi_0", up_)) return {};
  if (!fuses_activation()) {
    linear_forward(context, weights, up_, v[V::up], normed_NM, kPart);
    return {};
  }
  Tensor product_NF = product_buffer();
  linear_gelu_forward(context, weights, up_, product_NF, v[V::up], normed_NM, kPart);
  return product_NF;
}

Tensor DenseFeedForward::product_buffer() const {
  return shared_.context.workspace(named("mlp_product"), Shape{shared_.tensor_parallel.tokens(), up_.outputs()});
}

// In the buffer, which is made where there is none.
Tensor DenseFeedForward::activated(const Values& v, Tensor product_NF) const {
  if (!product_NF.defined()) product_NF = product_buffer();
  shared_.context.ops.activation_forward(
      {.product_NF = product_NF, .gate_NF = v[V::gate], .up_NF = v[V::up], .kind = model_.activation});
  return product_NF;
}

Tensor DenseFeedForward::finish(const LayerWeights& weights, Values& v, Tensor product_NF, Saved& saved) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  put_away({V::statistics}, v, saved);
  if (!product_NF.defined()) product_NF = activated(v, {});
  put_away({V::gate, V::up}, v, saved);
  Tensor y_RM = context.activation(named("layer_output"), Shape{tp.rows(), model_.d_model});
  PartialSums sums(context, tp, named("down_parts"), y_RM);
  linear_forward(context, weights, down_, sums.tokens_NM(), product_NF, kPart, bias_of(tp));
  sums.finish();
  // The norm that follows is the next layer's, with weights of another unit and a recording of its own, and the sum's
  // place is this layer's policy's to choose: here the sum takes a pass of its own.
  context.ops.add(y_RM, v[V::input], y_RM);
  put_away({V::input}, v, saved);
  return y_RM;
}

void DenseFeedForward::backward(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                                Tensor product_NF, TensorView dy_RM) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  // Also where it came with the projection just now: that one is of the sum before its rounding, and policies that kept
  // the rounded sum could not have the same bits.
  product_NF = activated(v, std::move(product_NF));
  {
    Tensor gathered_dy;
    const TensorView dy_NM = tp.gather(dy_RM, gathered_dy, named("dlayer_output"));
    const Tensor dinner =
        linear_backward_weight(context, weights, gradients, down_, dy_NM, product_NF, kPart, bias_of(tp));
    // The product is no longer needed: its buffer takes its gradient, or that of what it was made of.
    if (fuses_activation()) {
      linear_gelu_backward_input(context, weights, down_, product_NF, v[V::up], dy_NM, kPart);
    } else {
      linear_backward_input(context, weights, down_, product_NF, dy_NM, dinner, Write::overwrite, kPart);
    }
  }
  if (fuses_activation()) {
    v[V::up] = std::move(product_NF);
  } else {
    context.ops.activation_backward(
        {.gate_NF = v[V::gate], .up_NF = v[V::up], .dproduct_NF = product_NF, .kind = model_.activation});
    product_NF.reset();
  }
  backward_up(weights, gradients, v, dy_RM);
}

// `gate` and `up` hold the gradients by the projections.
void DenseFeedForward::backward_up(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                                   TensorView dy_RM) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  const Tensor buffer = tp.buffer(named("mlp_norm"));
  const TensorView rows_RM = tp.rows_of(buffer);
  const TensorView normed_NM = normalise_again(weights, v, buffer);
  Tensor dinner_gate;
  if (gate_) {
    dinner_gate = linear_backward_weight(context, weights, gradients, *gate_, v[V::gate], normed_NM, kPart);
  }
  const Tensor dinner_up = linear_backward_weight(context, weights, gradients, up_, v[V::up], normed_NM, kPart);
  // The normalised input has been read for the last time: its rows take their gradient.
  PartialSums sums(context, tp, named("dmlp_norm"), rows_RM, buffer);
  linear_backward_input(context, weights, up_, sums.tokens_NM(), v[V::up], dinner_up, Write::overwrite, kPart);
  if (gate_) {
    linear_backward_input(context, weights, *gate_, sums.tokens_NM(), v[V::gate], dinner_gate, Write::accumulate,
                          kPart);
  }
  v[V::gate].reset();
  v[V::up].reset();
  sums.finish();
  backward_norm(weights, gradients, v, rows_RM, dy_RM);
}

}  // namespace perfbench::engine
