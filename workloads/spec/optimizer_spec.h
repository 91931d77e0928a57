// The optimizer of a run and its schedule of learning rates (engine/optim).
#pragma once

#include <cstdint>

#include "workloads/spec/fields.h"
#include "workloads/spec/run_kinds.h"

namespace perfbench::spec {

// AdamW with decoupled weight decay on parameters of two or more dims; the learning rate is warmed up linearly over
// warmup_steps, then follows a cosine from learning_rate to min_lr_ratio*learning_rate at decay_steps. Gradients are
// scaled to a global norm of at most clip_norm (0: not clipped).
struct OptimizerSpec {
  double learning_rate = 3e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1.0;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;  // 0: constant after the warm-up
  double min_lr_ratio = 0.1;
  // bf16: takes half the memory; values are rounded up or down stochastically so that the expected value is the f32
  // one. With rounding to nearest, a second moment would never fall if beta2 takes off less than half a step of bf16,
  // which is at least one in 256 of it: beta2 above 0.998.
  StateType moments = StateType::fp32;
  // bf16: a layer's gradient of one microbatch is computed in f32 and rounded to nearest even. Other ranks receive the
  // rounded values, and every sum is kept rounded: those over ranks, and those over microbatches one after the other.
  StateType gradients = StateType::fp32;
  // Updates each unit's weights as soon as its gradient is complete; its memory is then free for the next unit's. This
  // needs one microbatch, no clipping, and gradients shared only by ranks along fsdp. The bits equal those of an update
  // after the backward pass.
  bool in_backward = false;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"learning_rate", "peak learning rate", 0.0, 1e3}.uncounted(), self.learning_rate);
    f(Field{"beta1", "decay of the first moment", 0.0, 1.0}.uncounted(), self.beta1);
    f(Field{"beta2", "decay of the second moment", 0.0, 1.0}.uncounted(), self.beta2);
    f(Field{"eps", "added to the root of the second moment", 0.0, 1.0}.uncounted(), self.eps);
    f(Field{"weight_decay", "decoupled weight decay", 0.0, 1e3}.uncounted(), self.weight_decay);
    f(Field{"clip_norm", "largest global gradient norm, 0 for none", 0.0}, self.clip_norm);
    f(Field{"warmup_steps", "steps of linear warm-up", 0}.uncounted(), self.warmup_steps);
    f(Field{"decay_steps", "step at which the cosine ends, 0 for none", 0}.uncounted(), self.decay_steps);
    f(Field{"min_lr_ratio", "last over peak learning rate", 0.0, 1.0}.uncounted(), self.min_lr_ratio);
    f(Field{"moments", "fp32, or bf16: half the memory, rounded by chance"}.omitted_at_default(), self.moments);
    f(Field{"gradients", "fp32, or bf16: half the memory and half the bytes between ranks"}.omitted_at_default(),
      self.gradients);
    f(Field{"in_backward", "update weights during the backward pass, and keep no gradients"}.omitted_at_default(),
      self.in_backward);
  }
};

}  // namespace perfbench::spec
