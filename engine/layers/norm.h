// A norm and its backward pass.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "engine/sharding/unit_gatherer.h"
#include "workloads/spec/model_spec.h"

namespace perfbench::engine {

// Where a norm's parameters lie in their unit.
struct Norm {
  Norm(const UnitLayout& unit, const std::string& name)
      : weight(unit.place(name + ".weight")), bias(unit.place_if_any(name + ".bias")) {}
  std::size_t parameters() const { return bias ? 2 : 1; }

  ParameterPlace weight;
  std::optional<ParameterPlace> bias;
};

// [2, N] for layernorm (mean, reciprocal standard deviation), [1, N] for rmsnorm; always f32.
inline Tensor norm_statistics(const Context& context, const spec::ModelSpec& model, std::string name,
                              std::int64_t tokens) {
  const std::int64_t rows = model.norm == spec::NormKind::layernorm ? 2 : 1;
  return context.activation_f32(std::move(name), Shape{rows, tokens});
}

inline NormForwardArgs norm_forward_args(const spec::ModelSpec& model, const GatheredUnit& weights, const Norm& norm,
                                         TensorView y, TensorView statistics, RowsView x) {
  return {.y_NM = y,
          .statistics = statistics,
          .x_NM = x,
          .weight_M = weights.weight(norm.weight),
          .bias_M = weights.weight(norm.bias),
          .kind = model.norm,
          .eps = model.norm_eps};
}

// dx and dy may be the same.
struct NormGradients {
  RowsView dx;
  RowsView dy;
  RowsView x;
  TensorView statistics;
};

inline void norm_backward(const Context& context, const spec::ModelSpec& model, const GatheredUnit& weights,
                          const GradientTarget& gradients, const Norm& norm, const NormGradients& values,
                          Write write_dx) {
  context.ops.norm_backward({.dx_NM = values.dx,
                             .dweight_M = gradients.gradient(norm.weight),
                             .dbias_M = gradients.gradient(norm.bias),
                             .dy_NM = values.dy,
                             .x_NM = values.x,
                             .statistics = values.statistics,
                             .weight_M = weights.weight(norm.weight),
                             .kind = model.norm,
                             .write_dx = write_dx,
                             .write_parameters = gradients.first_write()});
}

}  // namespace perfbench::engine
