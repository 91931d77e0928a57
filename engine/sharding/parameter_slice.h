// The slice of a parameter that a rank holds if ranks share the work on a layer (tp, ep), before it is flattened over
// fsdp.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/parallel/mesh.h"
#include "workloads/spec/model_spec.h"
#include "workloads/spec/parameter_table.h"

namespace perfbench::engine {

// One rank's part of a dim. If the ranks do not divide it, the first ones have one more; no rank has more than rank 0.
struct DimPart {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};
constexpr DimPart dim_part(std::int64_t dim, std::int64_t ranks, std::int64_t index) {
  const std::int64_t rest = dim % ranks;
  return {index * (dim / ranks) + (index < rest ? index : rest), dim / ranks + (index < rest ? 1 : 0)};
}
// The first rank with a smaller part than rank 0, or 0 if all parts are equal.
constexpr std::int64_t first_of_smaller_part(std::int64_t dim, std::int64_t ranks) {
  return dim % ranks;
}

struct ParameterSlice {
  std::vector<std::int64_t> shape;
  // The largest slice of any rank, so that all ranks lay a unit out in the same way.
  std::int64_t largest_elements = 0;
  // Element i of the slice is element first + i / run * stride + i % run of the whole parameter.
  std::int64_t first = 0;
  std::int64_t run = 1;
  std::int64_t stride = 0;
  AxisSet replicas{};  // the axes of tp and ep along which other ranks hold the same slice

  std::int64_t elements() const;
};

// Cut along the axes that the parameter names. Key and value heads that tp does not divide stay whole on every rank.
ParameterSlice slice_of(const spec::ParameterSpec& parameter, const spec::ModelSpec& model, const Mesh& mesh);

}  // namespace perfbench::engine
