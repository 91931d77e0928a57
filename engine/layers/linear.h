// A linear layer's three products. Weights are [out, in].
#pragma once

#include <string>

#include "engine/sharding/unit_gatherer.h"

namespace perfbench::engine {

// y[N, out] = x[N, in] W^T (+ bias).
inline void linear_forward(const Context& context, const GatheredUnit& weights, const std::string& name, TensorView y,
                           TensorView x, FlopPart part) {
  context.ops.matmul({.a = x,
                      .b = weights.weight(name + ".weight"),
                      .c = y,
                      .transpose_b = Transpose::yes,
                      .part = part,
                      .bias_n = weights.weight(name + ".bias")});
}

// y[N, out] = gelu(preactivation), preactivation = x W^T (+ bias); gelu in its tanh form.
inline void linear_gelu_forward(const Context& context, const GatheredUnit& weights, const std::string& name,
                                TensorView y, TensorView preactivation, TensorView x, FlopPart part) {
  context.ops.matmul({.a = x,
                      .b = weights.weight(name + ".weight"),
                      .c = y,
                      .transpose_b = Transpose::yes,
                      .part = part,
                      .bias_n = weights.weight(name + ".bias"),
                      .epilogue = Epilogue::gelu_tanh,
                      .preactivation = preactivation});
}

// dW[out, in] (+)= dy^T x, dbias likewise.
inline void linear_backward_weight(const Context& context, const GradientTarget& gradients, const std::string& name,
                                   TensorView dy, TensorView x, FlopPart part) {
  context.ops.matmul({.a = dy,
                      .b = x,
                      .c = gradients.gradient(name + ".weight"),
                      .transpose_a = Transpose::yes,
                      .write = gradients.first_write(),
                      .additions = gradients.additions(),
                      .part = part});
  const TensorView dbias = gradients.gradient(name + ".bias");
  if (dbias.defined()) context.ops.bias_backward(dbias, dy, gradients.first_write());
}

// dx[N, in] (+)= dy W.
inline void linear_backward_input(const Context& context, const GatheredUnit& weights, const std::string& name,
                                  TensorView dx, TensorView dy, Write write, FlopPart part) {
  context.ops.matmul({.a = dy, .b = weights.weight(name + ".weight"), .c = dx, .write = write, .part = part});
}

// The gradient by the pre-activation that was the input of gelu before this layer: (dy W) * gelu'(preactivation).
inline void linear_gelu_backward_input(const Context& context, const GatheredUnit& weights, const std::string& name,
                                       TensorView dpreactivation, TensorView preactivation, TensorView dy,
                                       FlopPart part) {
  context.ops.matmul({.a = dy,
                      .b = weights.weight(name + ".weight"),
                      .c = dpreactivation,
                      .part = part,
                      .epilogue = Epilogue::gelu_tanh_gradient,
                      .preactivation = preactivation});
}

}  // namespace perfbench::engine
