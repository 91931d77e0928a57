// The layers that a rank has if the model is divided among the stages of a pipeline (pp). Chunks of consecutive layers
// go around the stages, one chunk to each or, interleaved, several. Without a pipeline one chunk has all layers.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/parallel/mesh.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

struct PipelineShape {
  std::int64_t stages = 1;
  std::int64_t chunks_per_stage = 1;  // if above 1, the number of stages divides that of microbatches
  std::int64_t microbatches = 1;

  std::int64_t chunks() const { return stages * chunks_per_stage; }
  std::int64_t stage_of(std::int64_t chunk) const { return chunk % stages; }
};
PipelineShape pipeline_of(const spec::RunSpec& run);

struct ModelChunk {
  std::int64_t index = 0;  // among the chunks of the whole model
  std::int64_t first_layer = 0;
  std::int64_t layers = 0;  // if the chunks do not divide the layers, the first ones have one more
  bool embeds = false;      // its input is tokens
  bool has_head = false;    // its output is the loss
};

// In the order of the layers.
std::vector<ModelChunk> chunks_of_stage(const spec::RunSpec& run, std::int64_t stage);
inline std::int64_t stage_of_rank(const Mesh& mesh) {
  return mesh.place(Axis::pp);
}

}  // namespace perfbench::engine
