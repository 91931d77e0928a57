#include "engine/layers/adapter.h"

#include <string_view>

#include "engine/layers/recompute_pass.h"

namespace perfbench::engine {
namespace {

// factor * x A^T [N, rank].
void inner_product(const Context& context, const LayerWeights& weights, const Adapter& adapter, TensorView inner,
                   TensorView x, FlopPart part) {
  context.ops.matmul({.a = x,
                      .b = weights.adapters.weight(adapter.a),
                      .c = inner,
                      .transpose_b = Transpose::yes,
                      .part = part,
                      .factor = adapter.factor});
}

Tensor inner_values(const Context& context, const Adapter& adapter, TensorView x) {
  return context.workspace(adapter.name + ".lora", Shape{x.shape[0], adapter.a.shape[0]});
}

// dweight (+)= dy^T x.
void weight_gradient(const Context& context, const GradientTarget& gradients, const ParameterPlace& weight, RowsView dy,
                     TensorView x, FlopPart part) {
  context.ops.matmul({.a = dy,
                      .b = x,
                      .c = gradients.gradient(weight),
                      .transpose_a = Transpose::yes,
                      .write = gradients.first_write(),
                      .additions = gradients.additions(),
                      .part = part});
}

}  // namespace

std::optional<Adapter> find_adapter(const LayerUnits& units, const std::string& linear) {
  if (units.adapters == nullptr) return std::nullopt;
  const auto a = units.adapters->place_if_any(linear + ".a");
  if (!a) return std::nullopt;
  return Adapter{units.layer.name + "." + linear, *a, units.adapters->place(linear + ".b"), units.adapter_factor};
}

void adapter_forward(const Context& context, const LayerWeights& weights, const Adapter& adapter, RowsView y,
                     TensorView x, FlopPart part) {
  const Tensor inner = inner_values(context, adapter, x);
  inner_product(context, weights, adapter, inner, x, part);
  context.ops.matmul({.a = inner,
                      .b = weights.adapters.weight(adapter.b),
                      .c = y,
                      .transpose_b = Transpose::yes,
                      .write = Write::accumulate,
                      .part = part});
}

Tensor adapter_backward(const Context& context, const LayerWeights& weights, const LayerGradients& gradients,
                        const Adapter& adapter, RowsView dy, TensorView x, FlopPart part) {
  Tensor inner = inner_values(context, adapter, x);
  {
    const RecomputePass recompute(context.ops);
    inner_product(context, weights, adapter, inner, x, part);
  }
  weight_gradient(context, gradients.adapters, adapter.b, dy, inner, part);
  // This is the last read: the gradient replaces the value in its buffer.
  context.ops.matmul(
      {.a = dy, .b = weights.adapters.weight(adapter.b), .c = inner, .part = part, .factor = adapter.factor});
  weight_gradient(context, gradients.adapters, adapter.a, inner, x, part);
  return inner;
}

void adapter_backward_input(const Context& context, const LayerWeights& weights, const Adapter& adapter, TensorView dx,
                            TensorView dinner, FlopPart part) {
  context.ops.matmul(
      {.a = dinner, .b = weights.adapters.weight(adapter.a), .c = dx, .write = Write::accumulate, .part = part});
}

void merge_adapters(const Context& context, const LayerUnits& units, const LayerWeights& weights) {
  constexpr std::string_view kWeight = ".weight";
  std::size_t found = 0;
  for (const auto& parameter : units.layer.parameters) {
    const std::string_view name = units.layer.name_in_unit(parameter);
    if (!name.ends_with(kWeight)) continue;
    const auto adapter = find_adapter(units, std::string(name.substr(0, name.size() - kWeight.size())));
    if (!adapter) continue;
    context.ops.matmul({.a = weights.adapters.weight(adapter->b),
                        .b = weights.adapters.weight(adapter->a),
                        .c = weights.layer.weight(units.layer.place(name)),
                        .write = Write::accumulate,
                        .factor = adapter->factor});
    found += 2;
  }
  units.adapters->require_found(found);
}

}  // namespace perfbench::engine
