// Scores of completions, from the statistics that ranks compute for their columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/error.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/expect_within.h"
#include "tests/engine/oracle/products.h"

namespace perfbench::engine {
namespace {

using oracle::expect_within;
using oracle::gamma;
using oracle::kUnitF32;
using oracle::Operand;
using oracle::random_ids;
using oracle::random_operand;
using oracle::Values;

// Rows of logits [rows, width] and the targets of these rows, -1 for none.
struct ScoredRows {
  DType dtype = DType::f32;
  std::int64_t width = 0;
  Values logits;
  Values targets;

  std::int64_t rows() const { return static_cast<std::int64_t>(targets.size()); }
  double logit(std::int64_t row, std::int64_t column) const { return logits[oracle::index(row * width + column)]; }
  std::int64_t target(std::int64_t row) const { return static_cast<std::int64_t>(targets[oracle::index(row)]); }
};

// By the definition, in f64.
double log_likelihood(const ScoredRows& all, std::int64_t row) {
  double sum = 0;
  for (std::int64_t i = 0; i < all.width; ++i) sum += std::exp(all.logit(row, i) - all.logit(row, all.target(row)));
  return -std::log(sum);
}

bool is_greedy(const ScoredRows& all, std::int64_t row) {
  for (std::int64_t i = 0; i < all.width; ++i) {
    const bool beaten = !(all.logit(row, i) < all.logit(row, all.target(row)));
    if (i != all.target(row) && beaten) return false;
  }
  return true;
}

class Score : public OpsTest, public testing::WithParamInterface<DType> {
 protected:
  // Adds the scores of rows [first, first + count), computed by `ranks` ranks.
  void add_scores(const ScoredRows& all, std::int64_t first, std::int64_t count, std::int64_t ranks,
                  std::int64_t seq_len, TensorView scores) {
    const auto at = [&](std::int64_t row) { return all.targets.begin() + row; };
    const Operand targets(DType::i32, Shape{count}, Values(at(first), at(first + count)));
    const Operand statistics(DType::f32, Shape{ranks, kScoreStatistics, count});
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t begin = rank * all.width / ranks;
      const std::int64_t size = (rank + 1) * all.width / ranks - begin;
      Values own;
      for (std::int64_t row = first; row < first + count; ++row) {
        for (std::int64_t i = begin; i < begin + size; ++i) own.push_back(all.logit(row, i));
      }
      const std::int64_t of_rank = rank * kScoreStatistics * count;
      ops_->cross_entropy_part(
          {.statistics_3N = statistics.view().slice(of_rank, Shape{kCrossEntropyStatistics, count}),
           .logits_NV = Operand(all.dtype, Shape{count, size}, own),
           .targets_N = targets,
           .range = {.first = begin, .all = all.width},
           .others_N = statistics.view().slice(of_rank + kCrossEntropyStatistics * count, Shape{count})});
    }
    ops_->score(
        {.scores_B3 = scores, .statistics_R4N = statistics, .targets_N = targets, .first = first, .seq_len = seq_len});
  }

  // Scores of one sequence with one row.
  Values scores_of_row(const Values& logits, std::int64_t target, std::int64_t ranks = 1) {
    const Operand scores(DType::f64, Shape{1, kScores});
    add_scores({GetParam(), static_cast<std::int64_t>(logits.size()), logits, {static_cast<double>(target)}}, 0, 1,
               ranks, 1, scores);
    return scores.values();
  }
};
INSTANTIATE_TEST_SUITE_P(Storage, Score, testing::Values(DType::f32, DType::bf16),
                         [](const auto& name) { return std::string(dtype_name(name.param)); });

// For each row as in ops_vocabulary_test.cpp: the bound of the fused operation and two roundings for each exchanged
// number. Sequences add those of their rows; their parts are f32 numbers of the size of the logits, 16.
TEST_P(Score, AddsUpTheLikelihoodsOfEachSequence) {
  constexpr std::int64_t kBatch = 3, kLength = 5, kRows = kBatch * kLength;
  for (const std::int64_t width : {3, 17, 1024, 3001, 50257}) {
    for (const std::int64_t ranks : {1, 3}) {
      SCOPED_TRACE(std::to_string(width) + " columns, ranks " + std::to_string(ranks));
      ScoredRows all{GetParam(), width, random_operand(GetParam(), Shape{kRows, width}, 1, 30.0).values(),
                     random_ids(Shape{kRows}, static_cast<std::int32_t>(width), 2).values()};
      for (const std::size_t none : {0U, 1U, 7U, 10U, 11U, 12U, 13U, 14U}) all.targets[none] = kNoTarget;
      // Half of the targets are greedy choices.
      for (std::int64_t row = 2; row < kRows; row += 2) {
        if (all.target(row) < 0) continue;
        const auto of_row = all.logits.begin() + row * width;
        all.targets[oracle::index(row)] = static_cast<double>(std::max_element(of_row, of_row + width) - of_row);
      }
      const Values before{0.5, 1.0, 2.0, 0.0, 0.0, 0.0, -3.0, 0.0, 1.0};
      Values want = before;
      Values bound(want.size());
      const double relative = gamma(64.0 + 16.0 + 8.0 + 2.0 * kScoreStatistics + 3.0) + 2.0 * 16.0 * kUnitF32;
      for (std::int64_t row = 0; row < kRows; ++row) {
        if (all.target(row) < 0) continue;
        const auto score = oracle::index(row / kLength * kScores);
        want[score] += log_likelihood(all, row);
        bound[score] += relative * (1.0 - log_likelihood(all, row));
        want[score + 1] += 1.0;
        want[score + 2] += is_greedy(all, row) ? 0.0 : 1.0;
      }
      // The first part ends within a sequence.
      const Operand scores(DType::f64, Shape{kBatch, kScores}, before);
      add_scores(all, 0, 7, ranks, kLength, scores);
      add_scores(all, 7, 8, ranks, kLength, scores);
      expect_within(
          scores, want, [&](std::size_t i) { return bound[i]; }, "scores");
      const auto got = scores.values();
      for (const std::size_t i : {1U, 2U, 4U, 5U, 6U, 7U, 8U}) EXPECT_EQ(got[i], want[i]) << i;
      EXPECT_EQ(want[4], 4.0);
      if (GetParam() == DType::f32) {
        EXPECT_LE(want[2], 3.0);  // no two logits are equal there
      }
    }
  }
}

// A model whose logits are all equal has not chosen.
TEST_P(Score, ATieIsNotAGreedyChoice) {
  for (const std::int64_t ranks : {1, 2, 3}) {
    SCOPED_TRACE(ranks);
    EXPECT_EQ(scores_of_row({1.0, 3.0, 2.0, 0.0, -1.0, 2.5}, 1, ranks)[2], 0.0);
    EXPECT_EQ(scores_of_row({1.0, 3.0, 3.0, 0.0, -1.0, 2.5}, 1, ranks)[2], 1.0);
    EXPECT_EQ(scores_of_row({1.0, 3.0, 2.0, 0.0, -1.0, 3.0}, 1, ranks)[2], 1.0);
    EXPECT_EQ(scores_of_row({1.0, 3.0, 2.0, 0.0, -1.0, 3.0}, 5, ranks)[2], 1.0);
    EXPECT_EQ(scores_of_row(Values(6, 0.0), 0, ranks)[2], 1.0);
    EXPECT_NEAR(scores_of_row(Values(6, 0.0), 0, ranks)[0], -std::log(6.0), 1e-6);
  }
}

TEST_P(Score, ANanLogitMakesItsRowAMiss) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t target : {0, 1, 2}) {
    const auto scores = scores_of_row({5.0, kNan, 1.0}, target);
    EXPECT_TRUE(std::isnan(scores[0])) << target;
    EXPECT_EQ(scores[1], 1.0);
    EXPECT_EQ(scores[2], 1.0) << target;
  }
}

TEST_P(Score, TheVocabularyMayHaveOneToken) {
  const auto scores = scores_of_row({-2.0}, 0);
  EXPECT_EQ(scores, (Values{0.0, 1.0, 0.0}));
}

TEST_P(Score, RowsBeyondTheSequencesAreRefused) {
  const Operand scores(DType::f64, Shape{2, kScores});
  const Operand statistics(DType::f32, Shape{1, kScoreStatistics, 4});
  const Operand targets(DType::i32, Shape{4}, Values(4, kNoTarget));
  const auto score = [&](std::int64_t first) {
    ops_->score(
        {.scores_B3 = scores, .statistics_R4N = statistics, .targets_N = targets, .first = first, .seq_len = 3});
  };
  EXPECT_NO_THROW(score(2));
  EXPECT_THROW(score(3), LogicFault);
  EXPECT_THROW(score(-1), LogicFault);
}

}  // namespace
}  // namespace perfbench::engine
