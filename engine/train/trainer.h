// Steps of one rank: those that train, or of task eval those that evaluate.
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
// All that a step communicates along.
std::vector<Declared> communication(const spec::RunSpec& run);

class Trainer {
 public:
  // `tokens` and `evaluation` may be null in a dry walk, and where the run has none.
  Trainer(Context& context, const spec::RunSpec& run, const InitRule& init, TokenSource* tokens,
          EvaluationSource* evaluation = nullptr);

  // One optimizer step, or Evaluator::step; `step` counts from 0. The record's probe_ns is left to the caller. Throws
  // EngineError where a choice was dropped of a model that drops none.
  spec::StepRecord step(std::int64_t step);
  // What a run that trains and evaluates has left to do after its last step: it merges its adapters if it is to, and
  // takes all rows. Nothing of it is timed.
  void evaluate_at_end();

  ParameterStore& parameters() { return store_; }
  // Null in another precision than fp8.
  Fp8Scales* fp8() { return decoder_.fp8(); }
  UnitGatherer& gatherer() { return decoder_.gatherer(); }
  // Null where the run saves nothing.
  CheckpointSaver* saver() { return saver_ ? &*saver_ : nullptr; }
  // Null where the run evaluates nothing.
  Evaluator* evaluator() { return evaluator_ ? &*evaluator_ : nullptr; }

 private:
  // What all ranks' sequences add up to, as a record has it.
  struct Sums {
    double loss = 0;
    double balance_loss = 0;
    double expert_load = 0;
    std::int64_t dropped_choices = 0;
    TokenCounts tokens;  // where the run counts them
  };

  std::int64_t microbatch_tokens() const { return run_.microbatch() * run_.seq_len; }
  bool in_pipeline() const { return run_.mesh.pp() > 1; }
  bool reads_data() const;
  void load(std::int64_t step);
  TokenCounts load_tokens(std::int64_t step);
  void load_document_starts(std::int64_t step);
  // f(its place, where it begins among the tokens of all, how many it has) for every microbatch.
  template <class F>
  void for_each_microbatch(std::int64_t step, F&& f) const;
  Decoder::Microbatch microbatch(std::int64_t index) const;
  void train();
  // Of sums_, in their order; the last three where the model has experts.
  TensorView loss_sum() const { return sums_.view().slice(0, Shape{1}); }
  ExpertTotals expert_totals() const;
  Sums read_sums();
  TokenCounts read_counts();

  Context& context_;
  const spec::RunSpec& run_;
  TokenSource* source_;
  Tensor workspace_;  // of the operations, where the backend needs one
  ParameterStore store_;
  Tensor sums_;    // f64, of all microbatches
  Tensor counts_;  // f64 [2], of all microbatches: targets and padding, in a run that counts them
  Decoder decoder_;
  Pipeline pipeline_;
  std::optional<AdamwOptimizer> optimizer_;  // of a run that trains
  RecordedWork work_{RecordedWork::Operands::same_addresses};
  Tensor tokens_;  // i32, of all microbatches one behind the other; where the stage reads them
  Tensor targets_;
  Tensor document_starts_;  // likewise, on every stage of a run that packs documents
  std::vector<std::int32_t> host_tokens_;
  std::vector<std::int32_t> host_targets_;
  std::vector<std::int32_t> host_document_starts_;
  std::optional<Evaluator> evaluator_;
  std::optional<CheckpointSaver> saver_;
};

}  // namespace perfbench::engine
