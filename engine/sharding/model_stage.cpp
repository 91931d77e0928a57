#include "engine/sharding/model_stage.h"

#include <string>

#include "engine/core/error.h"
#include "engine/sharding/parameter_slice.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

PipelineShape pipeline_of(const spec::RunSpec& run) {
  return {.stages = run.mesh.pp(), .chunks_per_stage = run.pipeline_chunks, .microbatches = run.grad_accum};
}

std::vector<ModelChunk> chunks_of_stage(const spec::RunSpec& run, std::int64_t stage) {
  const auto shape = pipeline_of(run);
  std::vector<ModelChunk> out;
  for (std::int64_t c = 0; c < shape.chunks(); ++c) {
    if (shape.stage_of(c) != stage) continue;
    const auto layers = dim_part(run.model.layers, shape.chunks(), c);
    if (layers.size == 0) throw LogicFault("chunk " + std::to_string(c) + " of a pipeline has no layer");
    out.push_back({.index = c,
                   .first_layer = layers.begin,
                   .layers = layers.size,
                   .embeds = c == 0,
                   .has_head = c + 1 == shape.chunks()});
  }
  return out;
}

}  // namespace perfbench::engine
