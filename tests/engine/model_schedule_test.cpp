#include <gtest/gtest.h>

#include <vector>

#include "engine/data/token_source.h"
#include "engine/optim/schedule.h"
#include "tests/engine/example_runs.h"

namespace perfbench::engine {
namespace {

TEST(LearningRate, WarmsUpThenFollowsTheCosineThenStays) {
  const spec::OptimizerSpec o{.learning_rate = 1.0, .warmup_steps = 4, .decay_steps = 12, .min_lr_ratio = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(o, 0), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(o, 3), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(o, 4), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(o, 8), 0.55);  // half way: the mean of 1 and 0.1
  EXPECT_DOUBLE_EQ(learning_rate(o, 12), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(o, 1000), 0.1);
}

TEST(LearningRate, StaysAtThePeakWithoutADecay) {
  const spec::OptimizerSpec o{.learning_rate = 0.5, .warmup_steps = 0, .decay_steps = 0};
  EXPECT_DOUBLE_EQ(learning_rate(o, 0), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(o, 99), 0.5);
}

// All ranks and microbatches of a step together read each sequence of the global batch once, whatever the mesh.
TEST(SyntheticTokens, AMeshSharesOutTheSameSequences) {
  auto whole = gpt_tiny();
  const auto reference = make_synthetic_tokens(whole);
  std::vector<std::int32_t> all(static_cast<std::size_t>(whole.global_batch * whole.seq_len));
  std::vector<std::int32_t> all_targets(all.size());
  reference->read({.step = 5}, all, all_targets);
  auto cut = whole;
  cut.mesh.ici.fsdp = 2;
  cut.grad_accum = 2;
  const auto source = make_synthetic_tokens(cut);
  const auto part = static_cast<std::size_t>(cut.microbatch() * cut.seq_len);
  std::vector<std::int32_t> joined;
  std::vector<std::int32_t> tokens(part);
  std::vector<std::int32_t> targets(part);
  for (std::int64_t shard = 0; shard < 2; ++shard) {
    for (std::int64_t m = 0; m < 2; ++m) {
      source->read({.step = 5, .microbatch = m, .shard = shard}, tokens, targets);
      joined.insert(joined.end(), tokens.begin(), tokens.end());
    }
  }
  EXPECT_EQ(joined, all);
}

TEST(SyntheticTokens, TargetsAreTheNextTokens) {
  const auto run = gpt_tiny();
  const auto source = make_synthetic_tokens(run);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(run.global_batch * run.seq_len));
  std::vector<std::int32_t> targets(tokens.size());
  source->read({}, tokens, targets);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if ((i + 1) % static_cast<std::size_t>(run.seq_len) == 0) continue;
    EXPECT_EQ(targets[i], tokens[i + 1]);
  }
}

}  // namespace
}  // namespace perfbench::engine
