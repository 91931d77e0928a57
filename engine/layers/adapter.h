// The adapter of a linear layer (workloads/spec/lora_spec.h), computed by its own products and added to those of the
// layer. Where ranks along tp each have a part of a linear layer, they have that part of its adapter too; both make
// parts of the same sums (parameter_table.h, layer_adapters).
#pragma once

#include <optional>
#include <string>

#include "engine/layers/layer_units.h"

namespace perfbench::engine {

// Where an adapter's parameters lie in their unit.
struct Adapter {
  std::string name;  // "layers.3.query"
  ParameterPlace a;  // [rank, in]
  ParameterPlace b;  // [out, rank]
  float factor = 1.0F;
};

// The adapter of the linear layer `linear`, if it has one.
std::optional<Adapter> find_adapter(const LayerUnits& units, const std::string& linear);

// y[N, out] += factor * (x A^T) B^T.
void adapter_forward(const Context& context, const LayerWeights& weights, const Adapter& adapter, RowsView y,
                     TensorView x, FlopPart part);

// Adds or writes dA and dB. Returns the gradient of x A^T [N, rank], which adapter_backward_input takes. It recomputes
// x A^T: that is narrow, and keeping it would cost one more value for every linear layer.
Tensor adapter_backward(const Context& context, const LayerWeights& weights, const LayerGradients& gradients,
                        const Adapter& adapter, RowsView dy, TensorView x, FlopPart part);

// dx[N, in] += dinner A.
void adapter_backward_input(const Context& context, const LayerWeights& weights, const Adapter& adapter, TensorView dx,
                            TensorView dinner, FlopPart part);

// W[out, in] += factor * B A for each of the layer's adapters, in the gathered weights; rounded once to their type.
void merge_adapters(const Context& context, const LayerUnits& units, const LayerWeights& weights);

}  // namespace perfbench::engine
