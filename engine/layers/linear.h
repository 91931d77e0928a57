// A linear layer's three products, and those of its adapter if it has one. Weights are [out, in]. In precision fp8 the
// layers that fp8_scales.h names read 8 bits; adapters and biases use the unrounded values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/layers/adapter.h"
#include "engine/layers/fp8_scales.h"

namespace perfbench::engine {

// Where a linear layer's parameters lie in their unit.
struct Linear {
  Linear(const LayerUnits& units, const std::string& name)
      : weight(units.layer.place(name + ".weight")),
        bias(units.layer.place_if_any(name + ".bias")),
        adapter(find_adapter(units, name)),
        fp8(units.fp8 == nullptr ? nullptr : units.fp8->find(units.layer, name)) {}
  std::size_t parameters() const { return bias ? 2 : 1; }
  std::size_t adapter_parameters() const { return adapter ? 2 : 0; }
  std::int64_t outputs() const { return weight.shape[0]; }
  std::int64_t inputs() const { return weight.shape[1]; }
  // A linear layer with some of its outputs.
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
  const Fp8Linear* fp8;  // or null
};

// Where ranks each compute a part of a sum, one of them adds the bias.
enum class Bias { here, elsewhere };

inline RoundedOperand rounded_weight(const Context& context, const LayerWeights& weights, const Linear& linear) {
  return rounded(context, linear.fp8, Fp8Role::weight, weights.layer.weight(linear.weight));
}

// y[N, out] = x[N, in] W^T (+ bias), without the adapter.
inline void forward_product(const Context& context, const LayerWeights& weights, const Linear& linear, RowsView y,
                            const Operand& x, const Operand& weight, FlopPart part, Bias bias) {
  context.ops.matmul({.a = x.rows,
                      .b = weight.rows.dense(),
                      .c = y,
                      .transpose_b = Transpose::yes,
                      .part = part,
                      .bias_n = bias == Bias::here ? weights.layer.weight(linear.bias) : TensorView{},
                      .inverse_scale_a = x.inverse_scale,
                      .inverse_scale_b = weight.inverse_scale});
}

// The same with the adapter.
inline void linear_forward(const Context& context, const LayerWeights& weights, const Linear& linear, RowsView y,
                           TensorView x, FlopPart part, Bias bias = Bias::here) {
  {
    const RoundedOperand input = rounded(context, linear.fp8, Fp8Role::input, x);
    const RoundedOperand weight = rounded_weight(context, weights, linear);
    forward_product(context, weights, linear, y, input.operand, weight.operand, part, bias);
  }
  if (linear.adapter) adapter_forward(context, weights, *linear.adapter, y, x, part);
}

// y[N, out] = gelu(preactivation), preactivation = x W^T (+ bias); gelu in its tanh form. For a layer without adapter.
inline void linear_gelu_forward(const Context& context, const LayerWeights& weights, const Linear& linear, TensorView y,
                                TensorView preactivation, TensorView x, FlopPart part) {
  const RoundedOperand input = rounded(context, linear.fp8, Fp8Role::input, x);
  const RoundedOperand weight = rounded_weight(context, weights, linear);
  context.ops.matmul({.a = input.operand.rows,
                      .b = weight.operand.rows.dense(),
                      .c = y,
                      .transpose_b = Transpose::yes,
                      .part = part,
                      .bias_n = weights.layer.weight(linear.bias),
                      .epilogue = Epilogue::gelu_tanh,
                      .preactivation = preactivation,
                      .inverse_scale_a = input.operand.inverse_scale,
                      .inverse_scale_b = weight.operand.inverse_scale});
}

// dW[out, in] (+)= dy^T x, for a layer that trains.
inline void weight_gradient_product(const Context& context, const GradientTarget& own, TensorView dweight,
                                    const Operand& dy, const Operand& x, FlopPart part) {
  context.ops.matmul({.a = dy.rows,
                      .b = x.rows.dense(),
                      .c = dweight,
                      .transpose_a = Transpose::yes,
                      .write = own.first_write(),
                      .additions = own.additions(),
                      .part = part,
                      .inverse_scale_a = dy.inverse_scale,
                      .inverse_scale_b = x.inverse_scale});
}

// dbias (+)= the column sums of dy, on the rank that added the bias.
inline void bias_gradient(const Context& context, const GradientTarget& own, const Linear& linear, RowsView dy,
                          Bias bias) {
  const TensorView dbias = own.gradient(linear.bias);
  if (!dbias.defined()) return;
  if (bias == Bias::here) {
    context.ops.bias_backward(dbias, dy, own.first_write());
  } else if (own.first_write() == Write::overwrite) {
    context.ops.fill(dbias, 0.0);
  }
}

// The values from which the gradient of the input is computed.
struct OutputGradient {
  RoundedOperand dy;
  Tensor dinner;  // the gradient of an adapter's inner values [N, rank]; undefined without adapter
};

// dW[out, in] (+)= dy^T x, and dbias likewise on the rank that added the bias, unless the layer is frozen. Then the
// gradients of the adapter.
inline OutputGradient linear_backward_weight(const Context& context, const LayerWeights& weights,
                                             const LayerGradients& gradients, const Linear& linear, RowsView dy,
                                             TensorView x, FlopPart part, Bias bias = Bias::here) {
  const GradientTarget& own = gradients.layer;
  OutputGradient out;
  out.dy = rounded(context, linear.fp8, Fp8Role::gradient, dy);
  if (const TensorView dweight = own.gradient(linear.weight); dweight.defined()) {
    const RoundedOperand input = rounded(context, linear.fp8, Fp8Role::input, x);
    weight_gradient_product(context, own, dweight, out.dy.operand, input.operand, part);
  }
  bias_gradient(context, own, linear, dy, bias);
  if (linear.adapter) out.dinner = adapter_backward(context, weights, gradients, *linear.adapter, dy, x, part);
  return out;
}

// For a layer of which this rank computes only some outputs: clears the gradients of the others, before the first is
// added.
inline void zero_gradient(const Context& context, const LayerGradients& gradients, const Linear& linear) {
  const auto zero = [&](const GradientTarget& target, const std::optional<ParameterPlace>& at) {
    const TensorView gradient = target.gradient(at);
    if (gradient.defined() && target.first_write() == Write::overwrite) context.ops.fill(gradient, 0.0);
  };
  zero(gradients.layer, linear.weight);
  zero(gradients.layer, linear.bias);
  if (linear.adapter) zero(gradients.adapters, linear.adapter->b);
}

// dx[N, in] (+)= dy W, without the adapter.
inline void input_gradient_product(const Context& context, TensorView dx, const Operand& dy, const Operand& weight,
                                   Write write, FlopPart part) {
  context.ops.matmul({.a = dy.rows,
                      .b = weight.rows.dense(),
                      .c = dx,
                      .write = write,
                      .part = part,
                      .inverse_scale_a = dy.inverse_scale,
                      .inverse_scale_b = weight.inverse_scale});
}

// The same with the adapter. `d` is the result of linear_backward_weight.
inline void linear_backward_input(const Context& context, const LayerWeights& weights, const Linear& linear,
                                  TensorView dx, const OutputGradient& d, Write write, FlopPart part) {
  {
    const RoundedOperand weight = rounded_weight(context, weights, linear);
    input_gradient_product(context, dx, d.dy.operand, weight.operand, write, part);
  }
  if (linear.adapter) adapter_backward_input(context, weights, *linear.adapter, dx, d.dinner, part);
}

// The gradient of the pre-activation that was the input of the gelu below this layer: (dy W) * gelu'(preactivation).
// For a layer without adapter.
inline void linear_gelu_backward_input(const Context& context, const LayerWeights& weights, const Linear& linear,
                                       TensorView dpreactivation, TensorView preactivation, const OutputGradient& d,
                                       FlopPart part) {
  const RoundedOperand weight = rounded_weight(context, weights, linear);
  context.ops.matmul({.a = d.dy.operand.rows,
                      .b = weight.operand.rows.dense(),
                      .c = dpreactivation,
                      .part = part,
                      .epilogue = Epilogue::gelu_tanh_gradient,
                      .preactivation = preactivation,
                      .inverse_scale_a = d.dy.operand.inverse_scale,
                      .inverse_scale_b = weight.operand.inverse_scale});
}

}  // namespace perfbench::engine
