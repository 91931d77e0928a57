#include "engine/sharding/parameter_slice.h"

#include "engine/core/error.h"
#include "workloads/spec/divide_up.h"

namespace perfbench::engine {
namespace {

// The axis whose ranks share the dim, if there is one. Heads are not cut: with fewer key and value heads than ranks,
// each rank needs a whole one.
std::vector<AxisSet> dividing_axes(const spec::ParameterSpec& parameter, const spec::ModelSpec& model,
                                   const Mesh& mesh) {
  const bool few_heads = parameter.dims.starts_with("kv_heads") && model.n_kv_heads % mesh.size(Axis::tp) != 0;
  std::vector<AxisSet> out;
  for (const auto name : parameter.axes()) {
    AxisSet axes{};
    for (const auto axis : {Axis::tp, Axis::ep}) {
      if (name == axis_name(axis) && mesh.size(axis) > 1 && !few_heads) axes = axes.with(axis);
    }
    out.push_back(axes);
  }
  if (out.size() != parameter.shape.size()) {
    throw LogicFault("parameter " + parameter.name + " names " + std::to_string(out.size()) + " dims, \"" +
                     parameter.dims + "\", and has " + std::to_string(parameter.shape.size()));
  }
  return out;
}

}  // namespace

std::int64_t ParameterSlice::elements() const {
  std::int64_t n = 1;
  for (const auto d : shape) n *= d;
  return n;
}

ParameterSlice slice_of(const spec::ParameterSpec& parameter, const spec::ModelSpec& model, const Mesh& mesh) {
  const auto axes = dividing_axes(parameter, model, mesh);
  ParameterSlice slice{.largest_elements = 1};
  slice.run = parameter.elements();
  for (const auto axis : {Axis::tp, Axis::ep}) {
    if (mesh.size(axis) > 1) slice.replicas = slice.replicas.with(axis);
  }
  std::int64_t stride = parameter.elements();  // elements of the whole parameter at one index of the dim
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t dim = parameter.shape[i];
    const std::int64_t ranks = mesh.size(axes[i]);
    const auto [begin, size] = dim_part(dim, ranks, mesh.index(axes[i]));
    const std::int64_t outer = stride;
    stride /= dim;
    slice.shape.push_back(size);
    slice.largest_elements *= spec::divide_up(dim, ranks);
    slice.first += begin * stride;
    if (ranks == 1) continue;
    // A cut first dim gives contiguous slices. Slices of a later dim are strided, and at most one later dim is cut.
    slice.run = size * stride;
    slice.stride = outer;
    slice.replicas = slice.replicas.without(axes[i]);
  }
  return slice;
}

}  // namespace perfbench::engine
