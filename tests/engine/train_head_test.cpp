// The head of the model with logits in f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"

namespace perfbench::engine {
namespace {

class Ends : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  }
};

// With positions and a tied embedding, and with neither; 64 tokens of a microbatch are chunks of 24, 24 and 16.
std::vector<spec::RunSpec> runs() {
  std::vector<spec::RunSpec> all{gpt_tiny(), llama_tiny()};
  for (auto& run : all) {
    run.steps = 1;
    run.grad_accum = 2;
    run.loss_chunk_tokens = 24;
  }
  return all;
}

// Two runs of one seed have the same weights and, up to the logits, the same bits. A logit that is rounded to bf16
// moves by u = 2^-8 of itself at most, and a loss, logsumexp less the target's logit, by twice the largest of that. A
// logit is at most |x| |w| of its rows (Cauchy-Schwarz); |x| is the root of d_model behind an rmsnorm of weights 1.
// bf16 rounds both rows once more: 1 + u each.
TEST_F(Ends, LogitsInF32DifferByWhatTheirRoundingIs) {
  auto run = llama_tiny();
  run.loss_chunk_tokens = 24;
  run.precision = spec::Precision::bf16;
  TrainingRun rounded(run);
  const auto weights = rounded.weight("unembedding");
  const auto width = static_cast<std::size_t>(run.model.d_model);
  double longest = 0;
  for (std::size_t row = 0; row < weights.size(); row += width) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += static_cast<double>(weights[row + i]) * weights[row + i];
    longest = std::max(longest, std::sqrt(squares));
  }
  ASSERT_GT(longest, 0.0);
  constexpr double kUnit = 0x1p-8;
  const double largest = std::sqrt(static_cast<double>(width)) * longest * (1 + kUnit) * (1 + kUnit);
  run.logits = spec::LogitsType::fp32;
  TrainingRun exact(run);
  const auto want = rounded.step();
  const auto got = exact.step();
  EXPECT_NE(got.loss, want.loss);
  EXPECT_NEAR(got.loss, want.loss, 2 * kUnit * largest);
  EXPECT_NE(got.grad_norm, want.grad_norm);
}

// 24 rows of logits: four bytes instead of two, and a gradient in two beside them.
TEST_F(Ends, LogitsInF32TakeTheMemoryThatAWalkSays) {
  for (auto run : runs()) {
    run.precision = spec::Precision::bf16;
    run.logits = spec::LogitsType::fp32;
    TrainingRun training(run);
    training.all_steps();
    const auto dry = dry_walk(training.run(), 0);
    EXPECT_EQ(training.ledger().peaks().total_bytes, dry.peak.total_bytes);
    EXPECT_EQ(training.arena_bytes(), dry.arena_bytes);
    std::int64_t logits = 0;
    for (const auto& tensor : dry.live_at_peak) {
      if (tensor.name == "head.logits" || tensor.name == "head.dlogits") logits += tensor.bytes;
    }
    if (logits > 0) {
      EXPECT_EQ(logits, 24 * run.model.vocab_size * (4 + 2)) << run.model.name;
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
