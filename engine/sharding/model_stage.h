// Which layers of the model a rank has where they are divided among the stages of a pipeline (pp): chunks of layers
// that follow each other go around the stages, one chunk to each or, interleaved, several. Without a pipeline there is
// one chunk of all layers.
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
  std::int64_t chunks_per_stage = 1;  // above 1: stages divide the microbatches
  std::int64_t microbatches = 1;

  std::int64_t chunks() const { return stages * chunks_per_stage; }
  std::int64_t stage_of(std::int64_t chunk) const { return chunk % stages; }
};
PipelineShape pipeline_of(const spec::RunSpec& run);

struct ModelChunk {
  std::int64_t index = 0;  // among those of the whole model
  std::int64_t first_layer = 0;
  std::int64_t layers = 0;  // where chunks do not divide them, the first ones have one more
  bool embeds = false;      // its input is tokens
  bool has_head = false;    // its output is the loss
};

// In the order of the layers.
std::vector<ModelChunk> chunks_of_stage(const spec::RunSpec& run, std::int64_t stage);
inline std::int64_t stage_of_rank(const Mesh& mesh) {
  return mesh.place(Axis::pp);
}

}  // namespace perfbench::engine
