// Training with dropout: what its draws depend on, and what not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"

namespace perfbench::engine {
namespace {

class DropoutTraining : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  }
};

// The same batch in every microbatch, and weights that do not change: only the draws differ.
class OneBatch final : public TokenSource {
 public:
  explicit OneBatch(const spec::RunSpec& run) : all_(make_token_source(run)) {}
  TokenCounts read(const BatchPlace&, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    return all_->read({}, tokens, targets);
  }

 private:
  std::unique_ptr<TokenSource> all_;
};

std::unique_ptr<TrainingRun> on_one_batch(spec::RunSpec run) {
  run.optimizer.learning_rate = 0;
  return std::make_unique<TrainingRun>(run, first_weights(gpt_tiny()), make_single_collectives(),
                                       [](const spec::RunSpec& own) { return std::make_unique<OneBatch>(own); });
}

spec::RunSpec dropping(const spec::DropoutSpec& dropout) {
  auto run = gpt_tiny();
  run.dropout = dropout;
  return run;
}
const std::array kEachPlace{spec::DropoutSpec{.input = 0.1}, spec::DropoutSpec{.layer_input = 0.1},
                            spec::DropoutSpec{.residual = 0.1}};
constexpr spec::DropoutSpec kEverywhere{.input = 0.1, .layer_input = 0.1, .residual = 0.1};

TEST_F(DropoutTraining, DrawsAreNewInEveryStepAndPlace) {
  const double plain = on_one_batch(gpt_tiny())->step().loss;
  for (const auto& dropout : kEachPlace) {
    const auto training = on_one_batch(dropping(dropout));
    std::vector<double> losses{plain};
    for (int i = 0; i < 4; ++i) {
      losses.push_back(training->step().loss);
      for (std::size_t other = 0; other + 1 < losses.size(); ++other) EXPECT_NE(losses.back(), losses[other]);
    }
  }
}

// A run that resumes at a step has the same draws as one that has reached that step.
TEST_F(DropoutTraining, DrawsDependOnTheStepAndNotOnItsPredecessors) {
  for (const bool graphs : {false, true}) {
    auto run = dropping(kEverywhere);
    run.device_graphs = graphs;
    const auto from_the_start = on_one_batch(run);
    const auto gone_on = on_one_batch(run);
    for (int i = 0; i < 3; ++i) from_the_start->step();
    for (std::int64_t i = 3; i < 6; ++i) {
      const auto want = from_the_start->step();
      const auto got = gone_on->trainer().step(i);
      EXPECT_EQ(got.loss, want.loss) << i;
      EXPECT_EQ(got.grad_norm, want.grad_norm) << i;
    }
    EXPECT_TRUE(same_bits(gone_on->all_gradients(), from_the_start->all_gradients()));
  }
}

// The same tokens twice. Without dropout two microbatches have the mean gradients of one, added in another order. With
// it each has its own draws, and of the elements that one drops, a tenth, the other keeps most.
TEST_F(DropoutTraining, MicrobatchesDrawDifferently) {
  const auto off_by = [](spec::RunSpec run) {
    const auto one = on_one_batch(run);
    one->step();
    run.global_batch *= 2;
    run.grad_accum = 2;
    const auto two = on_one_batch(run);
    two->step();
    const auto wanted = one->all_gradients();
    const auto gradients = two->all_gradients();
    double most = 0, off = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(wanted[i])));
      off = std::max(off, std::abs(static_cast<double>(gradients[i]) - static_cast<double>(wanted[i])));
    }
    return off / most;
  };
  EXPECT_LT(off_by(gpt_tiny()), kSumsInOtherOrder);
  for (const auto& dropout : kEachPlace) EXPECT_GT(off_by(dropping(dropout)), 10 * kSumsInOtherOrder);
}

TEST_F(DropoutTraining, AnotherSeedHasOtherDraws) {
  auto run = dropping(kEverywhere);
  const double loss = on_one_batch(run)->step().loss;
  ++run.seed;
  EXPECT_NE(on_one_batch(run)->step().loss, loss);  // weights and tokens are the same as before
}

// Drops half of the residual stream's input: gradients of a token's embedding exist only where the forward pass kept
// it. If the vocabulary is larger than the batch, some tokens occur once.
TEST_F(DropoutTraining, TheEmbeddingHasNoGradientWhereItWasDropped) {
  auto run = llama_tiny();
  run.dropout.input = 0.5;
  run.model.vocab_size = 2001;
  run.optimizer.clip_norm = 0;
  TrainingRun training(run);
  training.step();
  const auto gradient = training.gradient("token_embedding");
  std::int64_t zeros = 0, elements = 0;
  for (std::size_t row = 0; row < gradient.size(); row += 32) {
    const auto of_row = std::count(gradient.begin() + static_cast<std::ptrdiff_t>(row),
                                   gradient.begin() + static_cast<std::ptrdiff_t>(row) + 32, 0.0F);
    if (of_row == 32) continue;  // the token does not occur
    zeros += of_row;
    elements += 32;
  }
  // At least 3/4 of 128 draws from 2001 tokens are tokens that occur once, half of whose elements are zero; five
  // deviations of a binomial number.
  const auto n = static_cast<double>(elements);
  EXPECT_GT(static_cast<double>(zeros), 0.75 * 0.5 * n - 5 * std::sqrt(n / 4));
  EXPECT_LT(static_cast<double>(zeros), 0.5 * n + 5 * std::sqrt(n / 4));
}

TEST_F(DropoutTraining, AnEvaluationDropsNothing) {
  auto run = gpt_tiny();
  run.task = spec::Task::sft;
  run.evaluation.path = "made up";
  const auto scores = [](spec::RunSpec of) {
    of.optimizer.learning_rate = 0;
    TrainingRun training(of);
    training.step();
    auto* const evaluator = training.trainer().evaluator();
    for (std::int64_t i = 0; i < evaluator->steps(); ++i) evaluator->step(i);
    training.step();
    return evaluator->rows();
  };
  const auto want = scores(run);
  run.dropout = {.input = 0.3, .layer_input = 0.3, .residual = 0.3};
  const auto got = scores(run);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].log_likelihood, want[i].log_likelihood) << i;
}

// Once on the input and up to three times in a layer, forward and backward, for each microbatch; attention's addition
// is recomputed if no policy keeps it. Not called at all without dropout.
TEST(DropoutOperations, AreCalledAsOftenAsTheModelSays) {
  auto run = llama_tiny();
  run.grad_accum = 2;
  const auto calls = [&] {
    std::int64_t out = 0;
    for (const auto& work : count_operations(run, 0).operations) {
      if (work.operation == spec::TraceOp::dropout) out += work.calls;
    }
    return out;
  };
  EXPECT_EQ(calls(), 0);
  run.dropout.input = 0.1;
  EXPECT_EQ(calls(), 2 * 2);
  run.dropout.residual = 0.1;
  EXPECT_EQ(calls(), 2 * (2 + run.model.layers * 4));
  run.remat = "full";
  EXPECT_EQ(calls(), 2 * (2 + run.model.layers * 5));
  run.dropout = {.layer_input = 0.1};
  EXPECT_EQ(calls(), 2 * run.model.layers * 2);
}

}  // namespace
}  // namespace perfbench::engine
