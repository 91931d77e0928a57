// Training in which some positions have no loss: a step's loss is the mean over those that have one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/data/synthetic_documents.h"
#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"

namespace perfbench::engine {
namespace {

class MaskedTraining : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  }
};

spec::RunSpec tuned(spec::RunSpec run) {
  run.task = spec::Task::sft;
  return run;
}

std::unique_ptr<TrainingRun> training_on(const spec::RunSpec& run, const DocumentRule& rule, std::int32_t padding = 0) {
  return std::make_unique<TrainingRun>(run, init_rule(run), make_single_collectives(), [=](const spec::RunSpec& own) {
    return make_synthetic_documents(own, rule, padding);
  });
}

// A prompt of one token and no padding: every position has a target.
DocumentRule whole_rows(const spec::RunSpec& run) {
  return [length = run.seq_len](std::int64_t) { return DocumentOfRow{1, length + 1}; };
}
DocumentRule prompts_alone(const spec::RunSpec& run) {
  return [length = run.seq_len](std::int64_t) { return DocumentOfRow{length + 1, length + 1}; };
}

// The device divides as the host would have done.
TEST_F(MaskedTraining, WithATargetEverywhereHasTheBitsOfPretraining) {
  for (auto run : {gpt_tiny(), dropless_tiny()}) {
    run.grad_accum = 2;
    TrainingRun plain(run);
    const auto masked = training_on(tuned(run), whole_rows(run));
    for (std::int64_t i = 0; i < run.steps; ++i) {
      const auto want = plain.step();
      const auto got = masked->step();
      EXPECT_EQ(got.loss, want.loss);
      EXPECT_EQ(got.grad_norm, want.grad_norm);
      EXPECT_EQ(got.loss_tokens, run.global_batch * run.seq_len);
      EXPECT_EQ(got.padding_tokens, 0);
      EXPECT_EQ(want.loss_tokens, 0);
    }
    EXPECT_TRUE(same_bits(masked->all_gradients(), plain.all_gradients()));
  }
}

// One of them has no target, and no two have equal numbers: a mean of their means would differ.
TEST_F(MaskedTraining, MicrobatchesAreWeightedByTheirTargets) {
  for (auto run : {gpt_tiny(), llama_tiny(), dropless_tiny()}) {
    run = tuned(run);
    run.steps = 2;
    const DocumentRule rule = [](std::int64_t sequence) {
      const std::int64_t of_step = sequence % 8;
      return of_step < 2 ? DocumentOfRow{17, 17} : DocumentOfRow{of_step, of_step + of_step};
    };
    const auto whole = training_on(run, rule);
    run.grad_accum = 4;
    const auto parts = training_on(run, rule);
    for (std::int64_t i = 0; i < run.steps; ++i) {
      const auto a = whole->step();
      const auto b = parts->step();
      EXPECT_NEAR(b.loss, a.loss, kSumsInOtherOrder * a.loss);
      EXPECT_NEAR(b.grad_norm, a.grad_norm, kSumsInOtherOrder * a.grad_norm);
      // The completions of six rows have 2 to 7 tokens; the rest of 16 is behind prompts twice as long.
      EXPECT_EQ(a.loss_tokens, 2 + 3 + 4 + 5 + 6 + 7);
      EXPECT_EQ(b.loss_tokens, 27);
      EXPECT_EQ(b.padding_tokens, 12 + 10 + 8 + 6 + 4 + 2);
    }
  }
}

TEST_F(MaskedTraining, AStepWithoutTargetsHasNoLossAndChangesNothing) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run = tuned(run);
    run.optimizer.weight_decay = 0;
    const auto training = training_on(run, [length = run.seq_len](std::int64_t sequence) {
      return sequence < 8 ? DocumentOfRow{length + 1, length + 1} : DocumentOfRow{1, length + 1};
    });
    const auto before = training->weight("layers.1.up.weight");
    const auto none = training->step();
    EXPECT_EQ(none.loss, 0.0);
    EXPECT_EQ(none.grad_norm, 0.0);
    EXPECT_EQ(none.tokens, run.global_batch * run.seq_len);
    EXPECT_EQ(none.loss_tokens, 0);
    ASSERT_FALSE(before.empty());
    EXPECT_TRUE(same_bits(training->weight("layers.1.up.weight"), before));
    const auto some = training->step();
    EXPECT_NEAR(some.loss, std::log(static_cast<double>(run.model.vocab_size)), 3.0);
    EXPECT_GT(some.grad_norm, 0.0);
    EXPECT_FALSE(same_bits(training->weight("layers.1.up.weight"), before));
  }
}

// All positions go through the experts, whether they have a loss or not: the balance does not change.
TEST_F(MaskedTraining, TheBalanceOfExpertsIsNotOverTheTargets) {
  auto run = dropless_tiny();
  const auto gradients = [&](double weight, bool masked) {
    auto of = masked ? tuned(run) : run;
    of.model.moe.load_balance_weight = weight;
    const auto training = training_on(of, masked ? prompts_alone(of) : whole_rows(of));
    training->step();
    return training->all_gradients();
  };
  const auto alone = gradients(1.0, true);
  const auto with_loss = gradients(1.0, false);
  const auto of_loss = gradients(0.0, false);
  double most = 0;
  double balance = 0;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(with_loss[i])));
    balance = std::max(balance, std::abs(static_cast<double>(alone[i])));
  }
  EXPECT_GT(balance, 0.01 * most);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    ASSERT_NEAR(alone[i], with_loss[i] - of_loss[i], kSumsInOtherOrder * most) << i;
  }
}

// Padding changes no gradients either: it is behind all real tokens, and causal attention looks back.
TEST_F(MaskedTraining, PaddingChangesNoBit) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    for (const auto kind : {spec::AttentionKind::flash, spec::AttentionKind::dot_product}) {
      run = tuned(run);
      run.attention = kind;
      const auto zeros = training_on(run, drawn_documents(run));
      const auto others = training_on(run, drawn_documents(run), 7);
      for (std::int64_t i = 0; i < run.steps; ++i) {
        const auto record = zeros->step();
        EXPECT_EQ(record.loss, others->step().loss);
        EXPECT_GT(record.padding_tokens, 0);
      }
      EXPECT_TRUE(same_bits(zeros->all_gradients(), others->all_gradients()));
    }
  }
}

// The count of a replayed step differs from that of the recorded step.
TEST_F(MaskedTraining, RecordedStepsHaveTheBitsOfExecutedOnes) {
  for (auto run : {gpt_tiny(), glam_tiny()}) {
    run = tuned(run);
    run.steps = 4;
    run.grad_accum = 2;
    run.device_graphs = false;
    TrainingRun executed(run);
    const auto expected = executed.all_steps();
    EXPECT_NE(expected[2].loss_tokens, expected[3].loss_tokens);
    run.device_graphs = true;
    for (const bool scan : {false, true}) {
      run.scan = scan;
      TrainingRun recorded(run);
      const auto steps = recorded.all_steps();
      for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i].loss, expected[i].loss) << "step " << i << " scan " << scan;
        EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm) << "step " << i << " scan " << scan;
        EXPECT_EQ(steps[i].loss_tokens, expected[i].loss_tokens) << "step " << i << " scan " << scan;
      }
      EXPECT_TRUE(same_bits(recorded.all_gradients(), executed.all_gradients())) << "scan " << scan;
    }
  }
}

TEST_F(MaskedTraining, DryMemoryIsTheRealLedgers) {
  const auto run = tuned(llama_tiny());
  TrainingRun real(run);
  real.step();
  const auto dry = dry_walk(real.run(), 0);
  EXPECT_EQ(real.ledger().peaks().total_bytes, dry.peak.total_bytes);
  EXPECT_EQ(real.ledger().peaks().workspace_bytes, dry.peak.workspace_bytes);
  EXPECT_EQ(real.arena_bytes(), dry.arena_bytes);
}

}  // namespace
}  // namespace perfbench::engine
