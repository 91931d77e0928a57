// The steps of one rank: training, or evaluation for task eval.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_saver.h"
#include "engine/data/token_source.h"
#include "engine/model/decoder.h"
#include "engine/optim/adamw.h"
#include "engine/sharding/recorded_work.h"
#include "engine/train/evaluator.h"
#include "engine/train/pipeline.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/step_record.h"

namespace perfbench::engine {

// The type of weights and activations in products.
DType compute_dtype(spec::Precision precision);
InitRule init_rule(const spec::RunSpec& run);
// Every communication that a step uses.
std::vector<Declared> communication(const spec::RunSpec& run);

class Trainer {
 public:
  // `tokens` and `evaluation` may be null in a dry walk, and if the run does not use them.
  Trainer(Context& context, const spec::RunSpec& run, const InitRule& init, TokenSource* tokens,
          EvaluationSource* evaluation = nullptr);

  // One optimizer step, or Evaluator::step; `step` counts from 0. The caller sets the record's probe_ns. Throws
  // EngineError if a choice was dropped in a model that drops none.
  spec::StepRecord step(std::int64_t step);
  // The work of a run that trains and evaluates after its last step: it merges its adapters if asked to, and evaluates
  // all rows. This is not timed.
  void evaluate_at_end();

  ParameterStore& parameters() { return store_; }
  // Null in a precision other than fp8.
  Fp8Scales* fp8() { return decoder_.fp8(); }
  UnitGatherer& gatherer() { return decoder_.gatherer(); }
  // Null if the run saves no checkpoints.
  CheckpointSaver* saver() { return saver_ ? &*saver_ : nullptr; }
  // Null if the run evaluates nothing.
  Evaluator* evaluator() { return evaluator_ ? &*evaluator_ : nullptr; }

 private:
  // Sums over the sequences of all ranks, as a record has them.
  struct Sums {
    double loss = 0;
    double balance_loss = 0;
    double expert_load = 0;
    std::int64_t dropped_choices = 0;
    TokenCounts tokens;  // if the run counts them
  };

  std::int64_t microbatch_tokens() const { return run_.microbatch() * run_.seq_len; }
  bool in_pipeline() const { return run_.mesh.pp() > 1; }
  bool reads_data() const;
  void load(std::int64_t step);
  TokenCounts load_tokens(std::int64_t step);
  void load_document_starts(std::int64_t step);
  // Calls f(its place, where it begins among the tokens of all, how many it has) for every microbatch.
  template <class F>
  void for_each_microbatch(std::int64_t step, F&& f) const;
  Decoder::Microbatch microbatch(std::int64_t index) const;
  void train();
  // The parts of sums_, in order; the last three only if the model has experts.
  TensorView loss_sum() const { return sums_.view().slice(0, Shape{1}); }
  ExpertTotals expert_totals() const;
  Sums read_sums();
  TokenCounts read_counts();

  Context& context_;
  const spec::RunSpec& run_;
  TokenSource* source_;
  Tensor workspace_;  // of the operations, if the backend needs one
  ParameterStore store_;
  Tensor sums_;    // f64, over all microbatches
  Tensor counts_;  // f64 [2], over all microbatches: targets and padding, in a run that counts them
  Decoder decoder_;
  Pipeline pipeline_;
  std::optional<AdamwOptimizer> optimizer_;  // in a run that trains
  RecordedWork work_{RecordedWork::Operands::same_addresses};
  Tensor tokens_;  // i32, of all microbatches one behind the other; on stages that read them
  Tensor targets_;
  Tensor document_starts_;  // the same, on every stage of a run that packs documents
  std::vector<std::int32_t> host_tokens_;
  std::vector<std::int32_t> host_targets_;
  std::vector<std::int32_t> host_document_starts_;
  std::optional<Evaluator> evaluator_;
  std::optional<CheckpointSaver> saver_;
};

}  // namespace perfbench::engine
