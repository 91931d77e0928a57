// What the engine writes and the harness reads: one StepRecord a line in steps.rank<R>.jsonl, RunSummary in
// result.json, DryReport from `perfbench-engine dry`. The harness's own verdict on an attempt (state, signal, times) is
// outcome.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workloads/spec/checkpoint_record.h"
#include "workloads/spec/fields.h"
#include "workloads/spec/peak_report.h"

namespace perfbench::spec {

// Bytes by what they are for. Peak per scope, each at its own moment; `total` is the peak of the sum.
struct MemoryPeaks {
  std::int64_t weights_bytes = 0;
  std::int64_t gradients_bytes = 0;
  std::int64_t optimizer_bytes = 0;
  std::int64_t activations_bytes = 0;
  std::int64_t gathered_bytes = 0;  // weights and gradients of layers gathered by fsdp, and collective buffers
  std::int64_t workspace_bytes = 0;
  std::int64_t host_bytes = 0;  // offloaded: not part of total
  std::int64_t total_bytes = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"weights_bytes", "parameters"}, self.weights_bytes);
    f(Field{"gradients_bytes", "gradients"}, self.gradients_bytes);
    f(Field{"optimizer_bytes", "optimizer states"}, self.optimizer_bytes);
    f(Field{"activations_bytes", "values of the forward pass and their gradients"}, self.activations_bytes);
    f(Field{"gathered_bytes", "gathered weights and collective buffers"}, self.gathered_bytes);
    f(Field{"workspace_bytes", "scratch of operations"}, self.workspace_bytes);
    f(Field{"host_bytes", "offloaded to host memory"}, self.host_bytes);
    f(Field{"total_bytes", "peak of the sum, without host_bytes"}, self.total_bytes);
  }
};

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
  // Mean cross-entropy in nats over all ranks' tokens that have a loss (Task), 0 where none has; NaN or infinite in a
  // run that diverged.
  double loss = 0;
  double grad_norm = 0;  // global, before clipping; may be no finite number either (finiteness.h)
  double learning_rate = 0;
  std::int64_t probe_ns = 0;  // time of the fixed noise-probe loop run before the step, outside wall_ns
  MemoryPeaks peak;
  std::int64_t bubble_ns = 0;
  // Of models with experts, over all their layers and the sequences of all ranks.
  double balance_loss = 0;  // the auxiliary loss, mean over sequences, before its weight
  // Choices of a sequence's busiest expert over an equal share of them, mean over sequences and layers: 1 is even.
  double expert_load = 0;
  std::int64_t dropped_choices = 0;
  // Where not every token of the batch is trained on; 0 of both: not recorded.
  std::int64_t loss_tokens = 0;
  std::int64_t padding_tokens = 0;
  // 1: of a profile's window (ProfileSpec), or the step before it in which its recordings were made; in no timing.
  std::int64_t traced = 0;
  std::int64_t checkpoint_ns = 0;  // for which the step waited for a checkpoint

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

struct LiveTensor {
  std::string name;   // "layers.3.mlpwi_0"
  std::string scope;  // weights, gradients, optimizer, activations, gathered, workspace, host
  std::string dtype;
  std::string shape;  // "[4096, 11008]"
  std::int64_t bytes = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"name", "name"}, self.name);
    f(Field{"scope", "what it is for"}, self.scope);
    f(Field{"dtype", "element type"}, self.dtype);
    f(Field{"shape", "local shape"}, self.shape);
    f(Field{"bytes", "allocated bytes", 0}, self.bytes);
  }
};

// FLOPs of one step on one rank, by part, as executed by the schedule. A causal attention counts half the score square.
struct FlopCounts {
  std::int64_t attention_projection_flops = 0;
  std::int64_t attention_score_flops = 0;
  std::int64_t feed_forward_flops = 0;
  std::int64_t unembedding_flops = 0;
  std::int64_t rematerialised_flops = 0;  // executed a second time; not in the parts above
  std::int64_t embedding_flops = 0;       // of products that could be a lookup (EmbeddingKind): no model's

  constexpr std::int64_t model_flops() const {
    return attention_projection_flops + attention_score_flops + feed_forward_flops + unembedding_flops;
  }
  constexpr std::int64_t executed_flops() const { return model_flops() + rematerialised_flops + embedding_flops; }

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"attention_projection_flops", "query, key, value and output projections"}, self.attention_projection_flops);
    f(Field{"attention_score_flops", "scores and weighted values"}, self.attention_score_flops);
    f(Field{"feed_forward_flops", "feed-forward products"}, self.feed_forward_flops);
    f(Field{"unembedding_flops", "logits"}, self.unembedding_flops);
    f(Field{"rematerialised_flops", "computed again for the backward pass"}, self.rematerialised_flops);
    f(Field{"embedding_flops", "an embedding's products with one-hot rows"}.omitted_at_default(), self.embedding_flops);
  }
};

inline void add(FlopCounts& to, const FlopCounts& counts) {
  std::vector<std::int64_t> added;
  FlopCounts::fields(counts, [&](const Field&, std::int64_t count) { added.push_back(count); });
  auto next = added.begin();
  FlopCounts::fields(to, [&](const Field&, std::int64_t& count) { count += *next++; });
}

// Of one step on one rank, by the axes and the level that it went along, as a matrix names them ("fsdp", "dcn_dp",
// "dp+fsdp"), and by collective.
struct AxisTraffic {
  std::string axis;
  std::string collective;  // all_gather, reduce_scatter, all_to_all, all_reduce; send, receive
  std::int64_t messages = 0;
  std::int64_t payload_bytes = 0;  // size of the full (gathered, or to be reduced) buffers
  std::int64_t sent_bytes = 0;     // what a ring sends from this rank: (n-1)/n of payload, twice for all_reduce
  // The host's waiting: for what was submitted before and for ranks that come later as well, in a receive for another
  // stage to compute. 0 of a plan, and on a GPU, where streams wait and not the host.
  std::int64_t exposed_ns = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"axis", "mesh axes of one level, as \"fsdp\", \"dcn_dp\", \"dp+fsdp\""}, self.axis);
    f(Field{"collective", "kind of collective"}, self.collective);
    f(Field{"messages", "collectives issued", 0}, self.messages);
    f(Field{"payload_bytes", "bytes of the full buffers", 0}, self.payload_bytes);
    f(Field{"sent_bytes", "bytes a ring sends from one rank", 0}, self.sent_bytes);
    f(Field{"exposed_ns", "the host's waiting, where it waits", 0}.omitted_at_default(), self.exposed_ns);
  }
};

enum class AttentionDirection { forward, backward };
template <>
struct EnumNames<AttentionDirection> {
  static constexpr std::array kNames{std::pair{AttentionDirection::forward, "forward"},
                                     std::pair{AttentionDirection::backward, "backward"}};
};

// Whose kernels.
enum class ComputedBy { cudnn, own };
template <>
struct EnumNames<ComputedBy> {
  static constexpr std::array kNames{std::pair{ComputedBy::cudnn, "cudnn"}, std::pair{ComputedBy::own, "own"}};
};

// Who computed flash attention on a GPU, in one direction.
struct AttentionKernel {
  AttentionDirection direction = AttentionDirection::forward;
  ComputedBy computed_by = ComputedBy::own;
  std::string reason;  // why not cuDNN; empty where it did

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"direction", "forward or backward"}, self.direction);
    f(Field{"computed_by", "cudnn or own"}, self.computed_by);
    f(Field{"reason", "why not cuDNN"}, self.reason);
  }
};

// What the dry backend counted for a stage of a pipeline: for its rank that needs most.
struct StageCounts {
  std::int64_t stage = 0;
  std::int64_t rank = 0;
  std::int64_t layers = 0;
  MemoryPeaks peak;
  std::int64_t arena_bytes = 0;
  FlopCounts flops;
  std::vector<AxisTraffic> traffic;
  std::vector<TensorGroup> largest;  // at its peak, where every tensor is listed

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"stage", "its place in the pipeline", 0}, self.stage);
    f(Field{"rank", "the rank that was walked", 0}, self.rank);
    f(Field{"layers", "layers of the stage", 0}, self.layers);
    f(Field{"peak", "memory peaks"}, self.peak);
    f(Field{"arena_bytes", "address range of the allocator", 0}, self.arena_bytes);
    f(Field{"flops", "floating point operations of a step"}, self.flops);
    f(Field{"traffic", "collectives and messages of a step"}, self.traffic);
    f(Field{"largest", "tensors alive at its peak, by kind"}.omitted_at_default(), self.largest);
  }
};

// What the dry backend counted for one rank: that which was asked for, or that which needs most.
struct DryReport {
  bool feasible = true;
  std::string reason;  // why not
  std::int64_t rank = 0;
  std::int64_t parameters = 0;         // of the whole model
  std::int64_t matmul_parameters = 0;  // Nm of the FLOP definitions
  MemoryPeaks peak;
  std::int64_t arena_bytes = 0;          // address range the allocator needs for that peak, with its gaps
  std::vector<LiveTensor> live_at_peak;  // largest first
  FlopCounts flops;
  std::vector<AxisTraffic> traffic;
  double bubble_fraction = 0;       // of a pipeline whose stages take equally long
  std::vector<StageCounts> stages;  // of a pipeline
  PeakMoment peak_at;
  std::vector<LiveTensor> host_at_peak;     // what is in host memory then, largest first
  std::vector<Intermediate> intermediates;  // of a run that trains, in the order of the forward pass
  std::int64_t offloaded_bytes = 0;         // sent to host memory in a step, and brought back
  std::vector<MemorySample> course;         // of the step's memory, where every tensor is listed

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"feasible", "whether the run fits"}, self.feasible);
    f(Field{"reason", "why it does not"}, self.reason);
    f(Field{"rank", "the rank that was walked", 0}, self.rank);
    f(Field{"parameters", "parameters of the model", 0}, self.parameters);
    f(Field{"matmul_parameters", "parameters that multiply each token", 0}, self.matmul_parameters);
    f(Field{"peak", "memory peaks"}, self.peak);
    f(Field{"arena_bytes", "address range of the allocator", 0}, self.arena_bytes);
    f(Field{"live_at_peak", "tensors alive at the peak"}, self.live_at_peak);
    f(Field{"flops", "floating point operations of a step"}, self.flops);
    f(Field{"traffic", "collectives of a step"}, self.traffic);
    f(Field{"bubble_fraction", "part of the time that stages of a pipeline wait, were they equal", 0.0, 1.0}
          .omitted_at_default(),
      self.bubble_fraction);
    f(Field{"stages", "of a pipeline, each"}.omitted_at_default(), self.stages);
    f(Field{"peak_at", "when the peak is"}.omitted_at_default(), self.peak_at);
    f(Field{"host_at_peak", "tensors in host memory at the peak"}.omitted_at_default(), self.host_at_peak);
    f(Field{"intermediates", "values of a layer for its backward pass, by kind"}.omitted_at_default(),
      self.intermediates);
    f(Field{"offloaded_bytes", "bytes sent to host memory in a step", 0}.omitted_at_default(), self.offloaded_bytes);
    f(Field{"course", "memory over the step"}.omitted_at_default(), self.course);
  }
};

// What one rank of a run of several took.
struct RankMemory {
  std::int64_t rank = 0;
  MemoryPeaks peak;
  std::int64_t arena_bytes = 0;
  std::int64_t resident_bytes = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"rank", "the rank", 0}, self.rank);
    f(Field{"peak", "memory peaks by the ledger"}, self.peak);
    f(Field{"arena_bytes", "address range of the allocator", 0}, self.arena_bytes);
    f(Field{"resident_bytes", "peak resident set of the process", 0}, self.resident_bytes);
  }
};

// What an evaluation found. Of a data set of choices a question's candidates are rows, and likelihoods are of those
// that are right.
struct EvaluationResult {
  std::int64_t rows = 0;       // scored; 0: there was no evaluation
  std::int64_t questions = 0;  // of a data set of choices
  std::int64_t tokens = 0;     // that the likelihoods are of
  double nll_sum = 0;          // negative log-likelihood, nats; NaN or infinite of a model that diverged
  double perplexity = 0;       // exp(nll_sum / tokens)
  // Share of the rows all of whose targets are greedy choices, or of the questions whose right candidate is the
  // likeliest. A tie is not right.
  double accuracy = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"rows", "rows scored", 0}, self.rows);
    f(Field{"questions", "questions with candidates", 0}, self.questions);
    f(Field{"tokens", "tokens that the likelihoods are of", 0}, self.tokens);
    f(Field{"nll_sum", "negative log-likelihood of them, nats"}, self.nll_sum);
    f(Field{"perplexity", "exp of its mean"}, self.perplexity);
    f(Field{"accuracy", "share of the rows, or questions, that are right"}, self.accuracy);
  }
};

// result.json: how the engine itself says a run ended. Absent after a crash. Memory is that of the rank that took most.
struct RunSummary {
  std::string status;  // ok, input_error, infeasible, out_of_memory, failed
  std::string message;
  std::int64_t steps = 0;
  std::int64_t startup_ns = 0;  // from process start to the first step
  MemoryPeaks peak;
  std::int64_t arena_bytes = 0;
  std::int64_t resident_bytes = 0;  // peak resident set of the process
  bool emulated = false;            // the precision is computed by conversion, the chip has no such units
  FlopCounts flops;                 // of a rank, mean over them
  std::vector<AxisTraffic> traffic;
  std::int64_t parameters = 0;
  std::int64_t matmul_parameters = 0;
  std::vector<AttentionKernel> attention_kernels;  // each direction once; none where no choice is made: on a CPU
  std::vector<RankMemory> ranks;                   // of several, in their order
  EvaluationResult evaluation;
  CheckpointCosts checkpoint;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"status", "ok, input_error, infeasible, out_of_memory or failed"}, self.status);
    f(Field{"message", "what went wrong"}, self.message);
    f(Field{"steps", "steps finished", 0}, self.steps);
    f(Field{"startup_ns", "process start to first step", 0}, self.startup_ns);
    f(Field{"peak", "memory peaks by the ledger"}, self.peak);
    f(Field{"arena_bytes", "address range of the allocator", 0}, self.arena_bytes);
    f(Field{"resident_bytes", "peak resident set of the process", 0}, self.resident_bytes);
    f(Field{"emulated", "precision emulated by conversion"}, self.emulated);
    f(Field{"flops", "floating point operations of a step on a rank, mean over them"}, self.flops);
    f(Field{"traffic", "collectives of the last step on rank 0"}, self.traffic);
    f(Field{"parameters", "parameters of the model", 0}, self.parameters);
    f(Field{"matmul_parameters", "parameters that multiply each token", 0}, self.matmul_parameters);
    f(Field{"attention_kernels", "who computed flash attention on a GPU"}.omitted_at_default(), self.attention_kernels);
    f(Field{"ranks", "memory of each of several ranks"}.omitted_at_default(), self.ranks);
    f(Field{"evaluation", "what an evaluation found"}.omitted_at_default(), self.evaluation);
    f(Field{"checkpoint", "what checkpoints cost"}.omitted_at_default(), self.checkpoint);
  }
};

}  // namespace perfbench::spec
