// One step of one rank: a line of steps.rank<R>.jsonl, which the engine writes and the harness reads.
#pragma once

#include <cstdint>

#include "workloads/spec/fields.h"
#include "workloads/spec/memory_record.h"

namespace perfbench::spec {

// Times by a monotonic clock. data + forward + backward + exposed_comm + bubble + optimizer + checkpoint + other =
// wall.
struct StepRecord {
  static constexpr std::int64_t kVersion = 1;
  std::int64_t version = kVersion;
  std::int64_t rank = 0;
  std::int64_t step = 0;
  std::int64_t wall_ns = 0;
  std::int64_t data_ns = 0;
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  std::int64_t exposed_comm_ns = 0;
  std::int64_t optimizer_ns = 0;
  std::int64_t other_ns = 0;
  std::int64_t tokens = 0;  // of all ranks
  // Mean cross-entropy in nats over all ranks' tokens that have a loss (Task), 0 if none has; NaN or infinite in a run
  // that diverged.
  double loss = 0;
  double grad_norm = 0;  // global, before clipping; it may also be NaN or infinite (finiteness.h)
  double learning_rate = 0;
  std::int64_t probe_ns = 0;  // time of the fixed noise-probe loop run before the step, outside wall_ns
  MemoryPeaks peak;
  std::int64_t bubble_ns = 0;
  // For models with experts, over all their layers and the sequences of all ranks.
  double balance_loss = 0;  // the auxiliary loss, mean over sequences, before its weight
  // Choices of a sequence's busiest expert relative to an equal share of them, mean over sequences and layers: 1 is
  // even.
  double expert_load = 0;
  std::int64_t dropped_choices = 0;
  // For runs that do not train on every token of the batch; both 0: not recorded.
  std::int64_t loss_tokens = 0;
  std::int64_t padding_tokens = 0;
  // 1: in a profile's window (ProfileSpec), or in the preceding step that made its recordings; excluded from all
  // timings.
  std::int64_t traced = 0;
  std::int64_t checkpoint_ns = 0;  // time that the step waited for a checkpoint

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"version", "version of this record", 1, 1}, self.version);
    f(Field{"rank", "rank that wrote it", 0}, self.rank);
    f(Field{"step", "counted from 0", 0}, self.step);
    f(Field{"wall_ns", "the whole step", 0}, self.wall_ns);
    f(Field{"data_ns", "waiting for tokens", 0}, self.data_ns);
    f(Field{"forward_ns", "forward pass", 0}, self.forward_ns);
    f(Field{"backward_ns", "backward pass, with recomputation", 0}, self.backward_ns);
    f(Field{"exposed_comm_ns", "waiting for collectives", 0}, self.exposed_comm_ns);
    f(Field{"optimizer_ns", "gradient norm, clipping and update", 0}, self.optimizer_ns);
    f(Field{"other_ns", "the rest of wall_ns", 0}, self.other_ns);
    f(Field{"tokens", "trained tokens of all ranks", 0}, self.tokens);
    f(Field{"loss", "mean cross-entropy, nats"}, self.loss);
    f(Field{"grad_norm", "global gradient norm before clipping"}, self.grad_norm);
    f(Field{"learning_rate", "of this step"}, self.learning_rate);
    f(Field{"probe_ns", "noise probe before the step", 0}, self.probe_ns);
    f(Field{"peak", "memory since the start of the run"}, self.peak);
    f(Field{"bubble_ns", "waiting for other stages of a pipeline", 0}.omitted_at_default(), self.bubble_ns);
    f(Field{"balance_loss", "auxiliary loss of experts before its weight"}.omitted_at_default(), self.balance_loss);
    f(Field{"expert_load", "choices of a sequence's busiest expert over an equal share"}.omitted_at_default(),
      self.expert_load);
    f(Field{"dropped_choices", "choices of experts that found no slot", 0}.omitted_at_default(), self.dropped_choices);
    f(Field{"loss_tokens", "tokens whose loss counts, where a run counts them", 0}
          .omitted_at_default()
          .null_at_default(),
      self.loss_tokens);
    f(Field{"padding_tokens", "tokens that fill up the batch", 0}.omitted_at_default().null_at_default(),
      self.padding_tokens);
    f(Field{"traced", "1 where tracing took part in the step, which no timing counts", 0, 1}.omitted_at_default(),
      self.traced);
    f(Field{"checkpoint_ns", "waiting for a checkpoint", 0}.omitted_at_default(), self.checkpoint_ns);
  }
};

}  // namespace perfbench::spec
