// Alternatives at the two ends of the model: an embedding by products with one-hot rows, and logits in f32.
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

// With positions and a tied embedding, and without either; 64 tokens of a microbatch are chunks of 24, 24 and 16.
std::vector<spec::RunSpec> runs() {
  std::vector<spec::RunSpec> all{gpt_tiny(), llama_tiny()};
  for (auto& run : all) {
    run.steps = 1;
    run.grad_accum = 2;
    run.loss_chunk_tokens = 24;
  }
  return all;
}

// A product with one-hot rows has the bits of a lookup: the row times 1, added to zeros and, rounded once, to the
// position. The gradient of a token is a sum over its rows in another order: for n = 128 rows gamma_n = n u, u = 2^-24,
// of their magnitudes (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2). In bf16 the rows are exact as
// well and the sums are in f32.
TEST_F(Ends, AOneHotEmbeddingHasTheBitsOfALookup) {
  for (auto run : runs()) {
    for (const auto precision : {spec::Precision::fp32, spec::Precision::bf16}) {
      run.precision = precision;
      TrainingRun lookup(run);
      auto other = run;
      other.embedding = spec::EmbeddingKind::one_hot;
      TrainingRun one_hot(other);
      const auto want = lookup.step();
      const auto got = one_hot.step();
      EXPECT_EQ(got.loss, want.loss) << run.model.name;
      for (const char* name : {"up.weight", "position_embedding"}) {
        EXPECT_EQ(one_hot.gradient(name), lookup.gradient(name)) << run.model.name << " " << name;
      }
      const auto a = lookup.gradient("token_embedding");
      const auto b = one_hot.gradient("token_embedding");
      ASSERT_EQ(a.size(), b.size());
      ASSERT_FALSE(a.empty());
      double most = 0;
      for (const float v : a) most = std::max(most, static_cast<double>(std::abs(v)));
      // Their magnitudes exceed the largest sum by less than a factor of 100 for these inputs.
      const double bound = 100.0 * 128.0 * 0x1p-24 * most;
      double farthest = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        farthest = std::max(farthest, static_cast<double>(std::abs(a[i] - b[i])));
      }
      EXPECT_LE(farthest, bound) << run.model.name;
      EXPECT_GT(most, 0.0);
    }
  }
}

// Forward and backward are each a product of N tokens, V columns and M; the model's FLOPs do not include them.
TEST_F(Ends, AOneHotEmbeddingCountsItsProducts) {
  for (auto run : runs()) {
    const auto before = dry_walk(run, 0);
    EXPECT_EQ(before.flops.embedding_flops, 0);
    run.embedding = spec::EmbeddingKind::one_hot;
    const auto after = dry_walk(run, 0);
    const std::int64_t products = 2 * 2 * run.global_batch * run.seq_len * run.model.vocab_size * run.model.d_model;
    EXPECT_EQ(after.flops.embedding_flops, products);
    EXPECT_EQ(after.flops.model_flops(), before.flops.model_flops());
    EXPECT_EQ(after.flops.executed_flops(), before.flops.executed_flops() + products);
    TrainingRun training(run);
    training.all_steps();
    EXPECT_EQ(training.flops().embedding_flops, products);
  }
}

// Two runs with one seed have the same weights and, up to the logits, the same bits. A logit rounded to bf16 moves by
// at most u = 2^-8 of itself, and a loss, logsumexp minus the target's logit, by at most twice the largest of these. A
// logit is at most |x| |w| of its rows (Cauchy-Schwarz); |x| is the root of d_model behind an rmsnorm with weights 1.
// bf16 rounds both rows once more: 1 + u each.
TEST_F(Ends, LogitsInF32DifferByTheirRounding) {
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

// 24 rows of logits: four bytes instead of two, and a two-byte gradient beside them.
TEST_F(Ends, LogitsInF32TakeThePlannedMemory) {
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
    run.embedding = spec::EmbeddingKind::one_hot;
    TrainingRun both(run);
    both.all_steps();
    EXPECT_EQ(both.ledger().peaks().total_bytes, dry_walk(both.run(), 0).peak.total_bytes);
    EXPECT_EQ(both.arena_bytes(), dry_walk(both.run(), 0).arena_bytes);
  }
}

}  // namespace
}  // namespace perfbench::engine
