// Forward passes over the rows of a data set, which tell how likely their completions are. They do not train, and keep
// nothing for a backward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/evaluation_source.h"
#include "engine/model/decoder.h"
#include "engine/sharding/recorded_work.h"
#include "engine/train/evaluation_result.h"
#include "engine/train/pipeline.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_summary.h"
#include "workloads/spec/step_record.h"

namespace perfbench::engine {

class Evaluator {
 public:
  // `sums` (f64 [1], or [kSums] for a model with experts) is where the decoder's layers add up the use of experts.
  // `source` is null in a dry walk.
  Evaluator(Context& context, const spec::RunSpec& run, const ParameterStore& store, Decoder& decoder, TensorView sums,
            EvaluationSource* source);

  // The number of steps that take every row once; one in a dry walk.
  std::int64_t steps() const;
  // Evaluates rows [step*global_batch, (step+1)*global_batch), on all ranks together; each step once, in their order.
  // The record's loss is the mean over the targets of these rows, 0 without targets. Throws as Trainer::step does.
  spec::StepRecord step(std::int64_t step);
  // The scores of the rows so far; the same on every rank.
  const std::vector<RowScore>& rows() const { return rows_; }
  spec::EvaluationResult result() const { return evaluation_result(rows_); }

 private:
  std::int64_t microbatch_tokens() const { return run_.microbatch() * run_.seq_len; }
  std::int64_t scores() const { return run_.global_batch * kScores; }
  void load(std::int64_t step);
  Decoder::Microbatch microbatch(std::int64_t index) const;
  void score();
  void take_rows(std::int64_t step);

  Context& context_;
  const spec::RunSpec& run_;
  Decoder& decoder_;
  TensorView sums_;
  EvaluationSource* source_;
  bool embeds_;
  bool has_head_;
  Pipeline pipeline_;
  RecordedWork work_{RecordedWork::Operands::same_addresses};
  Tensor tokens_;  // i32, of all microbatches one behind the other; on stages that read them
  Tensor targets_;
  Tensor totals_;  // f64: the scores of all rows of the step, [global_batch, 3], then the number of padding positions
  std::vector<std::int32_t> host_tokens_;
  std::vector<std::int32_t> host_targets_;
  std::vector<double> host_totals_;
  std::vector<RowScore> rows_;
};

}  // namespace perfbench::engine
