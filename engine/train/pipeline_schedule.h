// Which part of the model a stage of a pipeline computes when: one forward, one backward (Narayanan et al.,
// "PipeDream", 2019), and the same with several chunks of layers a stage, interleaved (Narayanan et al., "Efficient
// Large-Scale Language Model Training on GPU Clusters", 2021, 2.2). A pure function: a dry walk and a run execute the
// same list, and without a pipeline it is forward and backward of one microbatch after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sharding/model_stage.h"

namespace perfbench::engine {

struct PipelineAction {
  // begin_receive_*: from here on it may arrive; the computation of the same chunk and microbatch waits for it.
  enum class Kind { begin_receive_input, forward, send_output, begin_receive_gradient, backward, send_gradient };
  Kind kind = Kind::forward;
  std::int64_t chunk = 0;  // of the whole model, in the order of its layers
  std::int64_t microbatch = 0;
  friend bool operator==(const PipelineAction&, const PipelineAction&) = default;
};

// forward: the same order without what goes back.
enum class Passes { both, forward };

// Receiving begins one computation before it is waited for, so that it runs beside that. Throws LogicFault for a shape
// that cannot be.
std::vector<PipelineAction> pipeline_actions(const PipelineShape& shape, std::int64_t stage,
                                             Passes passes = Passes::both);

// The part of the time for which a stage waits, where all take equally long: (p - 1) / (v m + p - 1) of p stages with v
// chunks each and m microbatches (Narayanan et al. 2021, 2.2, whose fraction is of the time without waiting).
double equal_stages_bubble(const PipelineShape& shape);

}  // namespace perfbench::engine
