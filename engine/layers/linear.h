// A linear layer's three products. Weights are [out, in].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/sharding/unit_gatherer.h"

namespace perfbench::engine {

// Where its parameters lie in their unit.
struct Linear {
  Linear(const UnitLayout& unit, const std::string& name)
      : weight(unit.place(name + ".weight")), bias(unit.place_if_any(name + ".bias")) {}
  std::size_t parameters() const { return bias ? 2 : 1; }
  std::int64_t outputs() const { return weight.shape[0]; }
  // Some of its outputs.
  Linear rows(std::int64_t first, std::int64_t count) const {
    Linear some = *this;
    some.weight = {weight.offset + first * weight.shape[1], Shape{count, weight.shape[1]}};
    if (bias) some.bias = {bias->offset + first, Shape{count}};
    return some;
  }

  ParameterPlace weight;
  std::optional<ParameterPlace> bias;
};

// Where ranks each make a part of a sum, one of them adds the bias.
enum class Bias { here, elsewhere };

// y[N, out] = x[N, in] W^T (+ bias).
inline void linear_forward(const Context& context, const GatheredUnit& weights, const Linear& linear, TensorView y,
                           TensorView x, FlopPart part, Bias bias = Bias::here) {
  context.ops.matmul({.a = x,
                      .b = weights.weight(linear.weight),
                      .c = y,
                      .transpose_b = Transpose::yes,
                      .part = part,
                      .bias_n = bias == Bias::here ? weights.weight(linear.bias) : TensorView{}});
}

// y[N, out] = gelu(preactivation), preactivation = x W^T (+ bias); gelu in its tanh form.
inline void linear_gelu_forward(const Context& context, const GatheredUnit& weights, const Linear& linear, TensorView y,
                                TensorView preactivation, TensorView x, FlopPart part) {
  context.ops.matmul({.a = x,
                      .b = weights.weight(linear.weight),
                      .c = y,
                      .transpose_b = Transpose::yes,
                      .part = part,
                      .bias_n = weights.weight(linear.bias),
                      .epilogue = Epilogue::gelu_tanh,
                      .preactivation = preactivation});
}

// dW[out, in] (+)= dy^T x, dbias likewise, where the bias was added.
inline void linear_backward_weight(const Context& context, const GradientTarget& gradients, const Linear& linear,
                                   TensorView dy, TensorView x, FlopPart part, Bias bias = Bias::here) {
  context.ops.matmul({.a = dy,
                      .b = x,
                      .c = gradients.gradient(linear.weight),
                      .transpose_a = Transpose::yes,
                      .write = gradients.first_write(),
                      .additions = gradients.additions(),
                      .part = part});
  const TensorView dbias = gradients.gradient(linear.bias);
  if (!dbias.defined()) return;
  if (bias == Bias::here) {
    context.ops.bias_backward(dbias, dy, gradients.first_write());
  } else if (gradients.first_write() == Write::overwrite) {
    context.ops.fill(dbias, 0.0);
  }
}

// Of a layer of which this rank computes some outputs: the gradients of the others.
inline void zero_gradient(const Context& context, const GradientTarget& gradients, const Linear& linear) {
  context.ops.fill(gradients.gradient(linear.weight), 0.0);
  if (linear.bias) context.ops.fill(gradients.gradient(linear.bias), 0.0);
}

// dx[N, in] (+)= dy W.
inline void linear_backward_input(const Context& context, const GatheredUnit& weights, const Linear& linear,
                                  TensorView dx, TensorView dy, Write write, FlopPart part) {
  context.ops.matmul({.a = dy, .b = weights.weight(linear.weight), .c = dx, .write = write, .part = part});
}

// The gradient by the pre-activation that was the input of gelu before this layer: (dy W) * gelu'(preactivation).
inline void linear_gelu_backward_input(const Context& context, const GatheredUnit& weights, const Linear& linear,
                                       TensorView dpreactivation, TensorView preactivation, TensorView dy,
                                       FlopPart part) {
  context.ops.matmul({.a = dy,
                      .b = weights.weight(linear.weight),
                      .c = dpreactivation,
                      .part = part,
                      .epilogue = Epilogue::gelu_tanh_gradient,
                      .preactivation = preactivation});
}

}  // namespace perfbench::engine
