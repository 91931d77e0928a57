// A linear layer's three products, with those of its adapter where it has one. Weights are [out, in].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/layers/adapter.h"

namespace perfbench::engine {

// Where its parameters lie in their unit.
struct Linear {
  Linear(const LayerUnits& units, const std::string& name)
      : weight(units.layer.place(name + ".weight")),
        bias(units.layer.place_if_any(name + ".bias")),
        adapter(find_adapter(units, name)) {}
  std::size_t parameters() const { return bias ? 2 : 1; }
  std::size_t adapter_parameters() const { return adapter ? 2 : 0; }
  std::int64_t outputs() const { return weight.shape[0]; }
  // Some of its outputs.
  Linear rows(std::int64_t first, std::int64_t count) const {
    Linear some = *this;
    some.weight = {weight.offset + first * weight.shape[1], Shape{count, weight.shape[1]}};
    if (bias) some.bias = {bias->offset + first, Shape{count}};
    if (adapter) {
      const std::int64_t rank = adapter->b.shape[1];
      some.adapter->b = {adapter->b.offset + first * rank, Shape{count, rank}};
    }
    return some;
  }

  ParameterPlace weight;
  std::optional<ParameterPlace> bias;
  std::optional<Adapter> adapter;
};

// Where ranks each make a part of a sum, one of them adds the bias.
enum class Bias { here, elsewhere };

// y[N, out] = x[N, in] W^T (+ bias).
inline void linear_forward(const Context& context, const LayerWeights& weights, const Linear& linear, RowsView y,
                           TensorView x, FlopPart part, Bias bias = Bias::here) {
  context.ops.matmul({.a = x,
                      .b = weights.layer.weight(linear.weight),
                      .c = y,
                      .transpose_b = Transpose::yes,
                      .part = part,
                      .bias_n = bias == Bias::here ? weights.layer.weight(linear.bias) : TensorView{}});
  if (linear.adapter) adapter_forward(context, weights, *linear.adapter, y, x, part);
}

// y[N, out] = gelu(preactivation), preactivation = x W^T (+ bias); gelu in its tanh form. Of one without adapter.
inline void linear_gelu_forward(const Context& context, const LayerWeights& weights, const Linear& linear, TensorView y,
                                TensorView preactivation, TensorView x, FlopPart part) {
  context.ops.matmul({.a = x,
                      .b = weights.layer.weight(linear.weight),
                      .c = y,
                      .transpose_b = Transpose::yes,
                      .part = part,
                      .bias_n = weights.layer.weight(linear.bias),
                      .epilogue = Epilogue::gelu_tanh,
                      .preactivation = preactivation});
}

// dW[out, in] (+)= dy^T x, dbias likewise, where the bias was added; neither of a frozen layer. Those of the adapter,
// and for linear_backward_input the gradient by its inner values [N, rank]: undefined where there is no adapter.
inline Tensor linear_backward_weight(const Context& context, const LayerWeights& weights,
                                     const LayerGradients& gradients, const Linear& linear, RowsView dy, TensorView x,
                                     FlopPart part, Bias bias = Bias::here) {
  const GradientTarget& own = gradients.layer;
  if (const TensorView dweight = own.gradient(linear.weight); dweight.defined()) {
    context.ops.matmul({.a = dy,
                        .b = x,
                        .c = dweight,
                        .transpose_a = Transpose::yes,
                        .write = own.first_write(),
                        .additions = own.additions(),
                        .part = part});
  }
  if (const TensorView dbias = own.gradient(linear.bias); dbias.defined()) {
    if (bias == Bias::here) {
      context.ops.bias_backward(dbias, dy, own.first_write());
    } else if (own.first_write() == Write::overwrite) {
      context.ops.fill(dbias, 0.0);
    }
  }
  if (!linear.adapter) return {};
  return adapter_backward(context, weights, gradients, *linear.adapter, dy, x, part);
}

// Of a layer of which this rank computes some outputs, before their first gradient: those of the others.
inline void zero_gradient(const Context& context, const LayerGradients& gradients, const Linear& linear) {
  const auto zero = [&](const GradientTarget& target, const std::optional<ParameterPlace>& at) {
    const TensorView gradient = target.gradient(at);
    if (gradient.defined() && target.first_write() == Write::overwrite) context.ops.fill(gradient, 0.0);
  };
  zero(gradients.layer, linear.weight);
  zero(gradients.layer, linear.bias);
  if (linear.adapter) zero(gradients.adapters, linear.adapter->b);
}

// dx[N, in] (+)= dy W. `dinner` as from linear_backward_weight.
inline void linear_backward_input(const Context& context, const LayerWeights& weights, const Linear& linear,
                                  TensorView dx, RowsView dy, TensorView dinner, Write write, FlopPart part) {
  context.ops.matmul({.a = dy, .b = weights.layer.weight(linear.weight), .c = dx, .write = write, .part = part});
  if (linear.adapter) adapter_backward_input(context, weights, *linear.adapter, dx, dinner, part);
}

// The gradient by the pre-activation that was the input of gelu before this layer: (dy W) * gelu'(preactivation). Of
// one without adapter.
inline void linear_gelu_backward_input(const Context& context, const LayerWeights& weights, const Linear& linear,
                                       TensorView dpreactivation, TensorView preactivation, TensorView dy,
                                       FlopPart part) {
  context.ops.matmul({.a = dy,
                      .b = weights.layer.weight(linear.weight),
                      .c = dpreactivation,
                      .part = part,
                      .epilogue = Epilogue::gelu_tanh_gradient,
                      .preactivation = preactivation});
}

}  // namespace perfbench::engine
