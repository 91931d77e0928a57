// Evaluation: forward passes alone, whose scores equal those of training's own loss.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"

namespace perfbench::engine {
namespace {

class Evaluation : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  }
};

spec::RunSpec evaluating(spec::RunSpec run) {
  run.task = spec::Task::eval;
  return run;
}

std::vector<spec::RunSpec> evaluated_families() {
  if (is_slow()) return {llama_tiny(), t5_tiny(), glam_tiny()};
  return {gpt_tiny(), llama_tiny(), qwen3_tiny(), t5_tiny(), dropless_tiny(), glam_tiny()};
}

struct Evaluated {
  std::vector<spec::StepRecord> steps;
  std::vector<RowScore> rows;
  spec::EvaluationResult result;
};

Evaluated evaluated(TrainingRun& training) {
  Evaluated out;
  auto* const evaluator = training.trainer().evaluator();
  for (std::int64_t i = 0; i < evaluator->steps(); ++i) out.steps.push_back(evaluator->step(i));
  out.rows = evaluator->rows();
  out.result = evaluator->result();
  return out;
}

Evaluated evaluated(const spec::RunSpec& run) {
  TrainingRun training(run);
  return evaluated(training);
}

void expect_same_scores(const Evaluated& got, const Evaluated& want) {
  ASSERT_EQ(got.rows.size(), want.rows.size());
  for (std::size_t i = 0; i < want.rows.size(); ++i) {
    EXPECT_EQ(got.rows[i].log_likelihood, want.rows[i].log_likelihood) << "row " << i;
    EXPECT_EQ(got.rows[i].targets, want.rows[i].targets) << "row " << i;
    EXPECT_EQ(got.rows[i].missed, want.rows[i].missed) << "row " << i;
  }
  EXPECT_EQ(got.result.perplexity, want.result.perplexity);
  EXPECT_EQ(got.result.accuracy, want.result.accuracy);
}

// Training computes its loss by another operation, and before the first update, with the same weights on the same
// tokens.
TEST_F(Evaluation, HasTheLossOfTraining) {
  for (auto run : evaluated_families()) {
    run.loss_chunk_tokens = 21;  // ends within sequences
    auto tuned = run;
    tuned.task = spec::Task::sft;
    TrainingRun training(tuned);
    const auto want = training.step();
    const auto got = evaluated(evaluating(run));
    ASSERT_EQ(got.steps.size(), 3U);
    EXPECT_NEAR(got.steps[0].loss, want.loss, kSumsInOtherOrder * want.loss) << run.model.name;
    EXPECT_EQ(got.steps[0].loss_tokens, want.loss_tokens);
    EXPECT_EQ(got.steps[0].padding_tokens, want.padding_tokens);
    EXPECT_EQ(got.steps[0].dropped_choices, want.dropped_choices);
    EXPECT_NEAR(got.steps[0].balance_loss, want.balance_loss, kSumsInOtherOrder * want.balance_loss);
    EXPECT_EQ(got.steps[0].grad_norm, 0.0);
    EXPECT_EQ(got.steps[0].tokens, run.global_batch * run.seq_len);
  }
}

// Three rows of the last batch do not exist.
TEST_F(Evaluation, TakesEveryRowOnce) {
  const auto run = evaluating(llama_tiny());
  const auto got = evaluated(run);
  ASSERT_EQ(got.result.rows, 3 * 8 - 3);
  const auto document = drawn_documents(run);
  double nll = 0;
  std::int64_t targets = 0;
  for (std::int64_t i = 0; i < got.result.rows; ++i) {
    const auto& row = got.rows[static_cast<std::size_t>(i)];
    EXPECT_EQ(row.targets, document(i).tokens - document(i).prompt) << i;
    EXPECT_LT(row.log_likelihood, 0.0);
    nll -= row.log_likelihood;
    targets += row.targets;
  }
  EXPECT_EQ(got.result.tokens, targets);
  EXPECT_DOUBLE_EQ(got.result.nll_sum, nll);
  std::int64_t padding = 3 * run.seq_len;
  for (std::int64_t i = 16; i < 21; ++i) padding += std::max<std::int64_t>(0, run.seq_len - document(i).tokens);
  EXPECT_EQ(got.steps[2].padding_tokens, padding);
  // Random weights know nothing: near the logarithm of the vocabulary.
  EXPECT_NEAR(got.result.nll_sum / static_cast<double>(targets), std::log(101.0), 3.0);
}

// Equal except for the order of sums in products with more or fewer rows.
void expect_near_scores(const Evaluated& got, const Evaluated& want) {
  ASSERT_EQ(got.rows.size(), want.rows.size());
  for (std::size_t i = 0; i < want.rows.size(); ++i) {
    const double score = want.rows[i].log_likelihood;
    EXPECT_NEAR(got.rows[i].log_likelihood, score, kSumsInOtherOrder * std::abs(score)) << "row " << i;
    EXPECT_EQ(got.rows[i].targets, want.rows[i].targets) << "row " << i;
  }
}

// The results of a row do not depend on other rows computed with it.
TEST_F(Evaluation, ScoresDependOnlyOnTheirRows) {
  for (const auto& family : {gpt_tiny(), llama_tiny()}) {
    auto run = evaluating(family);
    run.loss_chunk_tokens = run.seq_len;
    const auto at_once = evaluated(run);
    run.grad_accum = 4;
    const auto want = evaluated(run);
    expect_near_scores(want, at_once);
    run.scan = true;
    expect_same_scores(evaluated(run), want);
    run.device_graphs = false;
    expect_same_scores(evaluated(run), want);
    run.fsdp_prefetch = 0;
    expect_same_scores(evaluated(run), want);
  }
}

TEST_F(Evaluation, RecordedStepsHaveTheScoresOfExecutedOnes) {
  for (auto run : evaluated_families()) {
    run = evaluating(run);
    run.steps = 4;
    run.device_graphs = false;
    const auto executed = evaluated(run);
    run.device_graphs = true;
    for (const bool scan : {false, true}) {
      run.scan = scan;
      expect_same_scores(evaluated(run), executed);
    }
  }
}

TEST_F(Evaluation, KeepsOnlyWeights) {
  for (auto run : evaluated_families()) {
    run = evaluating(run);
    TrainingRun real(run);
    real.step();
    const auto& peaks = real.ledger().peaks();
    EXPECT_EQ(peaks.gradients_bytes, 0);
    EXPECT_EQ(peaks.optimizer_bytes, 0);
    const auto dry = dry_walk(real.run(), 0);
    EXPECT_EQ(peaks.total_bytes, dry.peak.total_bytes) << run.model.name;
    EXPECT_EQ(peaks.activations_bytes, dry.peak.activations_bytes);
    EXPECT_EQ(peaks.workspace_bytes, dry.peak.workspace_bytes);
    EXPECT_EQ(real.arena_bytes(), dry.arena_bytes);
    EXPECT_EQ(real.flops().executed_flops(), dry.flops.executed_flops());
    EXPECT_EQ(dry.flops.rematerialised_flops, 0);
    // The forward pass is two of the six parts of a training step's products.
    auto trained = real.run();
    trained.task = spec::Task::pretrain;
    EXPECT_EQ(3 * dry.flops.model_flops(), dry_walk(trained, 0).flops.model_flops());
    // No layer leaves anything behind: twice as many layers take no more memory.
    auto deeper = real.run();
    deeper.model.layers *= 2;
    EXPECT_EQ(dry_walk(deeper, 0).peak.activations_bytes, dry.peak.activations_bytes);
  }
}

bool equal_gradients(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// For every policy, whatever it keeps of the passes of training.
TEST_F(Evaluation, AtTheEndOfTrainingDoesNotChangeTraining) {
  for (auto run : evaluated_families()) {
    for (const char* policy : {"none", "full", "minimal_offloaded"}) {
      run.remat = policy;
      TrainingRun plain(run);
      run.evaluation.path = "made up";
      TrainingRun both(run);
      run.evaluation.path.clear();
      EXPECT_EQ(both.step().loss, plain.step().loss);
      const auto result = evaluated(both).result;
      EXPECT_EQ(result.rows, 2 * 8 - 3);
      EXPECT_TRUE(equal_gradients(both.all_gradients(), plain.all_gradients()));
      const auto dry = dry_walk(both.run(), 0);
      EXPECT_EQ(both.ledger().peaks().total_bytes, dry.peak.total_bytes) << run.model.name << " " << policy;
      EXPECT_EQ(both.arena_bytes(), dry.arena_bytes);
      EXPECT_EQ(dry.flops.model_flops(), dry_walk(plain.run(), 0).flops.model_flops());
      EXPECT_EQ(both.step().loss, plain.step().loss) << run.model.name << " " << policy;
    }
  }
}

// Before the first step it equals a run that only evaluates; after training on its own rows, a model does better.
TEST_F(Evaluation, AtTheEndOfTrainingScoresTheTrainedModel) {
  auto run = llama_tiny();
  run.task = spec::Task::sft;
  run.evaluation.path = "made up";
  TrainingRun training(run);
  const auto before = evaluated(training);
  auto alone = evaluating(llama_tiny());
  alone.steps = 2;
  expect_same_scores(before, evaluated(alone));
  TrainingRun longer(run);
  for (int i = 0; i < 40; ++i) longer.trainer().step(i % 2);
  const auto after = evaluated(longer);
  EXPECT_LT(after.result.perplexity, 0.1 * before.result.perplexity);
  EXPECT_GT(after.result.accuracy, before.result.accuracy);
}

}  // namespace
}  // namespace perfbench::engine
