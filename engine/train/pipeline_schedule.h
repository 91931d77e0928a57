// When a stage of a pipeline computes which part of the model: one forward, one backward (Narayanan et al.,
// "PipeDream", 2019), and the same with several chunks of layers per stage, interleaved (Narayanan et al., "Efficient
// Large-Scale Language Model Training on GPU Clusters", 2021, 2.2). It is a pure function: a dry walk and a run execute
// the same list. Without a pipeline it is forward and backward of one microbatch after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sharding/model_stage.h"

namespace perfbench::engine {

struct PipelineAction {
  // begin_receive_*: the message may arrive from here on; the computation of the same chunk and microbatch waits for
  // it.
  enum class Kind { begin_receive_input, forward, send_output, begin_receive_gradient, backward, send_gradient };
  Kind kind = Kind::forward;
  std::int64_t chunk = 0;  // among those of the whole model, in the order of its layers
  std::int64_t microbatch = 0;
  friend bool operator==(const PipelineAction&, const PipelineAction&) = default;
};

// forward: the same order without the backward passes.
enum class Passes { both, forward };

// A receive begins one computation before it is waited for, so that both overlap. Throws LogicFault for an impossible
// shape.
std::vector<PipelineAction> pipeline_actions(const PipelineShape& shape, std::int64_t stage,
                                             Passes passes = Passes::both);

// The part of the time for which a stage waits if all stages take equally long: (p - 1) / (v m + p - 1) for p stages
// with v chunks each and m microbatches (Narayanan et al. 2021, 2.2, whose fraction refers to the time without
// waiting).
double equal_stages_bubble(const PipelineShape& shape);

}  // namespace perfbench::engine
