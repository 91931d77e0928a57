// Final norm, unembedding and what follows, in chunks of tokens, so that only loss_chunk_tokens rows of logits exist.
// To train: cross-entropy, forward and backward at once; the gradient by the logits takes their place
// (LogitsType::fp32: and is rounded beside it). To evaluate: scores. Of several ranks along tp each has the logits of
// its part of the vocabulary; what they tell one another is three numbers a token.
#pragma once

#include "engine/layers/layer_shared.h"
#include "engine/layers/norm.h"
#include "engine/sharding/unit_gatherer.h"

namespace perfbench::engine {

struct LossHeadArgs {
  const LayerShared& shared;
  const GatheredUnit& head;  // holds final_norm
  const Norm& final_norm;
  const GatheredUnit& unembedding;  // holds unembedding_VM
  ParameterPlace unembedding_VM;
  const GradientTarget& head_gradients;  // of frozen weights: none is computed
  const GradientTarget& unembedding_gradients;
  TensorView x_RM;                  // the last layer's output
  TensorView targets_N;             // i32
  TensorView loss_sum;              // f64 [1], accumulated
  TensorView counted_targets = {};  // f64 [1], of the step; undefined where every token has a target
};

struct ScoreHeadArgs {
  const LayerShared& shared;
  const GatheredUnit& head;  // holds final_norm
  const Norm& final_norm;
  const GatheredUnit& unembedding;  // holds unembedding_VM
  ParameterPlace unembedding_VM;
  TensorView x_RM;       // the last layer's output
  TensorView targets_N;  // i32
  TensorView scores_B3;  // f64, added to (ScoreArgs)
};

void score_head(const ScoreHeadArgs& args);

// dx_RM. The time of the backward products is booked to Phase::backward.
Tensor loss_head(const LossHeadArgs& args);

}  // namespace perfbench::engine
