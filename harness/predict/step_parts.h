// The seconds of every part of a step on its slowest device, before parts overlap and before fitted multipliers.
// Everything in it follows from shapes, the stack's counts and the device's figures.
#pragma once

#include <cstdint>

#include "harness/predict/published_case.h"

namespace perfbench::predict {

// The parts of one pass of one layer and microbatch.
struct PassParts {
  double matmul_s = 0;
  double attention_s = 0;
  double memory_s = 0;  // memory-bound kernels and copies
};

struct StepParts {
  double layers = 0;  // of a pipeline stage
  double microbatches = 1;
  double stages = 1;
  double interleaving = 1;
  double devices = 1;

  PassParts forward;
  PassParts backward;
  PassParts recompute;
  double gaps_s = 0;             // between the kernels of a layer, both passes
  double eager_floor_s = 0;      // host time of a layer, both passes; 0: launches never limit it
  double tensor_parallel_s = 0;  // exposed collectives of a pass
  bool recompute_communicates = false;
  double forward_gather_s = 0;  // weights of a layer
  double backward_gather_s = 0;
  double gradient_scatter_s = 0;  // gradients of a layer

  double head_matmul_s = 0;            // of a microbatch
  double head_memory_s = 0;            // of a microbatch
  double embedding_collectives_s = 0;  // of a microbatch
  double stage_message_s = 0;          // between two pipeline stages

  double gradient_reduction_s = 0;  // once a step
  double weight_gather_s = 0;       // once a step
  double optimizer_s = 0;
  double host_s = 0;

  double overlap_fraction = 0;
  double exposed_fraction = 0;
  double contention_fraction = 0;
  double straggler_fraction = 0;
};

StepParts step_parts(const TrainingSetup& setup);

}  // namespace perfbench::predict
