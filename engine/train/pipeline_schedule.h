// Which part of the model a stage of a pipeline computes when: one forward, one backward (Narayanan et al.,
// "PipeDream", 2019), and the same with several chunks of layers a stage, interleaved (Narayanan et al., "Efficient
// Large-Scale Language Model Training on GPU Clusters", 2021, 2.2). A pure function: a dry walk and a run execute the
// same list, and without a pipeline it is forward and backward of one microbatch after the other.
#pragma once

#include <cstdint>
#include <vector>

namespace perfbench::engine {

struct PipelineShape {
  std::int64_t stages = 1;
  std::int64_t chunks_per_stage = 1;  // above 1: stages divide the microbatches
  std::int64_t microbatches = 1;

  std::int64_t chunks() const { return stages * chunks_per_stage; }
  // Chunks follow each other around the stages.
  std::int64_t stage_of(std::int64_t chunk) const { return chunk % stages; }
};

struct PipelineAction {
  // begin_receive_*: from here on it may arrive; the computation of the same chunk and microbatch waits for it.
  enum class Kind { begin_receive_input, forward, send_output, begin_receive_gradient, backward, send_gradient };
  Kind kind = Kind::forward;
  std::int64_t chunk = 0;  // of the whole model, in the order of its layers
  std::int64_t microbatch = 0;
  friend bool operator==(const PipelineAction&, const PipelineAction&) = default;
};

// Receiving begins one computation before it is waited for, so that it runs beside that. Throws LogicFault for a shape
// that cannot be.
std::vector<PipelineAction> pipeline_actions(const PipelineShape& shape, std::int64_t stage);

}  // namespace perfbench::engine
