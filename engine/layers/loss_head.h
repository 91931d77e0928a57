// The final norm, the unembedding and what follows, in chunks of tokens, so that only loss_chunk_tokens rows of logits
// exist. Training computes cross-entropy, forward and backward at once; the gradient replaces the logits (with
// LogitsType::fp32 it is also rounded beside them). Evaluation computes scores. Ranks along tp each have the logits of
// their part of the vocabulary, and exchange three numbers per token.
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
  const GradientTarget& head_gradients;  // if the weights are frozen, no gradient is computed
  const GradientTarget& unembedding_gradients;
  TensorView x_RM;                  // the last layer's output
  TensorView targets_N;             // i32
  TensorView loss_sum;              // f64 [1], accumulated
  TensorView counted_targets = {};  // f64 [1], over the step; undefined if every token has a target
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

// Returns dx_RM. The time of the backward products is booked to Phase::backward.
Tensor loss_head(const LossHeadArgs& args);

}  // namespace perfbench::engine
