// Sums over rows, computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/train/evaluation_result.h"

namespace perfbench::engine {
namespace {

RowScore candidate(std::int64_t question, bool right, double log_likelihood, std::int64_t targets = 1) {
  return {.log_likelihood = log_likelihood,
          .targets = targets,
          .missed = 1,
          .candidate = spec::Candidate{.question = question, .right = right}};
}

TEST(EvaluationResult, NoRowsGiveNoResult) {
  EXPECT_EQ(evaluation_result({}).rows, 0);
}

TEST(EvaluationResult, ARowThatMissesNoTargetIsCorrect) {
  const std::vector<RowScore> rows{{.log_likelihood = -1.0, .targets = 2, .missed = 0},
                                   {.log_likelihood = -4.0, .targets = 3, .missed = 1},
                                   {.log_likelihood = -0.5, .targets = 1, .missed = 0},
                                   {.log_likelihood = 0.0, .targets = 0, .missed = 0}};
  const auto result = evaluation_result(rows);
  EXPECT_EQ(result.rows, 4);
  EXPECT_EQ(result.questions, 0);
  EXPECT_EQ(result.tokens, 6);
  EXPECT_EQ(result.nll_sum, 5.5);
  EXPECT_DOUBLE_EQ(result.perplexity, std::exp(5.5 / 6.0));
  EXPECT_EQ(result.accuracy, 0.5) << "a row without a target is not right";
}

// Three questions: one right, one wrong by its sums though not by its means, one right among three candidates.
TEST(EvaluationResult, AQuestionIsCorrectIfItsRightCandidateIsTheLikeliest) {
  const std::vector<RowScore> rows{candidate(0, false, -2.0),    candidate(0, true, -1.0),  candidate(1, true, -3.0, 4),
                                   candidate(1, false, -2.0, 1), candidate(2, false, -9.0), candidate(2, true, -1.0),
                                   candidate(2, false, -1.5)};
  const auto result = evaluation_result(rows);
  EXPECT_EQ(result.rows, 7);
  EXPECT_EQ(result.questions, 3);
  EXPECT_DOUBLE_EQ(result.accuracy, 2.0 / 3.0);
  EXPECT_EQ(result.tokens, 6) << "of the right candidates";
  EXPECT_EQ(result.nll_sum, 5.0);
}

TEST(EvaluationResult, ATieAndANanAreNotCorrect) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(evaluation_result(std::vector{candidate(0, true, -1.0), candidate(0, false, -1.0)}).accuracy, 0.0);
  EXPECT_EQ(evaluation_result(std::vector{candidate(0, true, kNan), candidate(0, false, -1.0)}).accuracy, 0.0);
  EXPECT_EQ(evaluation_result(std::vector{candidate(0, true, -1.0), candidate(0, false, kNan)}).accuracy, 0.0);
  const auto lost = evaluation_result(std::vector{RowScore{.log_likelihood = kNan, .targets = 1, .missed = 1}});
  EXPECT_TRUE(std::isnan(lost.perplexity));
  EXPECT_EQ(lost.accuracy, 0.0);
}

}  // namespace
}  // namespace perfbench::engine
