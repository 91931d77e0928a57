#include "harness/predict/score.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "harness/predict/score_gate.h"
#include "tests/harness/predict/predictor_inputs.h"

namespace perfbench::predict {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<ScoreSplit> all_splits() {
  std::vector<ScoreSplit> out;
  for (const auto& [split, name] : spec::EnumNames<ScoreSplit>::kNames) out.push_back(split);
  return out;
}

const std::vector<Score>& all_scores() {
  static const auto kScores = scores(shipped().samples, shipped().unpredicted, all_splits());
  return kScores;
}

const Score& score_of(ScoreSplit split, const std::string& rows) {
  for (const auto& score : all_scores()) {
    if (score.split == split && score.rows == rows) return score;
  }
  throw std::out_of_range("no score " + rows);
}

std::string expected_file() {
  return std::string(PERFBENCH_SOURCE_DIR) + "/workloads/predictor/expected_scores.yaml";
}

// The promise of the repository. A change that makes predictions worse fails here; one that makes them better should
// lower the figures of the file.
TEST(Scores, AreNotWorseThanThoseOfTheRepository) {
  const auto expected = load_expected_scores(expected_file());
  EXPECT_GT(expected.size(), 20U);
  EXPECT_THAT(missed_expectations(expected, all_scores(), all_splits()), IsEmpty());
  for (const auto& wanted : expected) {
    EXPECT_NEAR(100 * score_of(wanted.split, wanted.rows).accuracy.mean_absolute_error, wanted.mape_percent, 0.06)
        << "write the new figure into expected_scores.yaml: " << wanted.rows;
  }
}

TEST(Scores, BeatConstantUtilisationOnTheReferenceRows) {
  for (const auto split : {ScoreSplit::zero_fit, ScoreSplit::leave_one_out, ScoreSplit::leave_system_out}) {
    const auto& score = score_of(split, "reference");
    EXPECT_EQ(score.accuracy.rows, 20U);
    EXPECT_LT(2 * score.accuracy.mean_absolute_error, score.constant_mfu_error.value());
    EXPECT_LT(2 * score.accuracy.mean_absolute_error, score.constant_hfu_error.value());
  }
}

TEST(Scores, PredictEveryRowOfASplitOnce) {
  for (const auto& [split, rows] : {std::pair{ScoreSplit::leave_system_out, "all"},
                                    {ScoreSplit::leave_source_out, "all"},
                                    {ScoreSplit::llm_foundry_folds, "llm-foundry"}}) {
    std::set<std::string> names;
    const auto& score = score_of(split, rows);
    for (const auto& p : score.predictions) names.insert(p.sample->published.name);
    EXPECT_EQ(names.size(), score.predictions.size());
    EXPECT_EQ(names.size(), score.accuracy.rows);
  }
  EXPECT_EQ(score_of(ScoreSplit::leave_system_out, "all").accuracy.rows, 382U);
}

struct HeldOutRow {
  ScoreSplit split;
  const char* rows;
  const char* name;
  const char* trained;  // a row that the prediction is fitted on
};

double held_out_s(const HeldOutRow& held, std::vector<Sample> samples, const char* changed) {
  for (auto& sample : samples) {
    if (sample.published.name == changed) sample.published.step_s *= 1.3;
  }
  for (const auto& score : scores(samples, {}, {held.split})) {
    if (score.rows != held.rows) continue;
    for (const auto& p : score.predictions) {
      if (p.sample->published.name == held.name) return p.time.total_s;
    }
  }
  return 0;
}

TEST(Scores, ARowDoesNotEnterItsOwnPrediction) {
  const char* foundry = "llm-foundry/h100-80gb-3b-t32768-8-amp-bf16-gb144";
  for (const auto& held : {
           HeldOutRow{ScoreSplit::leave_one_out, "reference", "seqax/1b-8xa100", "seqax/2b-8xa100"},
           HeldOutRow{ScoreSplit::leave_source_out, "all", "seqax/1b-8xa100", "pax/5b-a100-bf16"},
           HeldOutRow{ScoreSplit::leave_system_out, "all", "seqax/1b-8xa100", "pax/5b-a100-bf16"},
           HeldOutRow{ScoreSplit::extrapolation, "8 to 16..512 devices",
                      "llm-foundry/h100-80gb-3b-t2048-512-amp-bf16-gb4096", foundry},
       }) {
    const double usual = held_out_s(held, shipped().samples, "");
    EXPECT_GT(usual, 0) << held.rows;
    EXPECT_EQ(held_out_s(held, shipped().samples, held.name), usual) << spec::enum_name(held.split);
    EXPECT_NE(held_out_s(held, shipped().samples, held.trained), usual) << spec::enum_name(held.split);
  }
}

TEST(Scores, CountRowsThatCannotBePredicted) {
  EXPECT_EQ(shipped().unpredicted.size(), 9U);
  for (const auto& row : shipped().unpredicted) EXPECT_FALSE(row.reason.empty()) << row.name;
  EXPECT_EQ(score_of(ScoreSplit::zero_fit, "external").unpredicted, 9U);
  EXPECT_EQ(score_of(ScoreSplit::zero_fit, "torchprime").unpredicted, 6U);
}

TEST(Scores, FoldsAreTheSameEverywhere) {
  EXPECT_EQ(fold_of("", 10), 14695981039346656037ULL % 10);
  EXPECT_EQ(fold_of("a", 10), 12638187200555641996ULL % 10);  // FNV-1a's published value
  std::set<std::size_t> used;
  for (const auto& sample : shipped().samples) used.insert(fold_of(sample.published.name, 10));
  EXPECT_EQ(used.size(), 10U);
}

TEST(Accuracy, IsThatOfTheseFourRows) {
  std::vector<Sample> samples(4, shipped_row("seqax/1b-8xa100"));
  Predictions predictions;
  const double predicted[] = {1.1, 0.9, 1.0, 2.0};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].published.step_s = 1;
    predictions.push_back({.sample = &samples[i], .time = {.total_s = predicted[i]}, .half_width = 0.2});
  }
  const auto accuracy = accuracy_of(predictions);
  EXPECT_NEAR(accuracy.mean_absolute_error, (0.1 + 0.1 + 0 + 1) / 4, 1e-12);
  EXPECT_NEAR(accuracy.bias, (std::log(1.1) + std::log(0.9) + std::log(2.0)) / 4, 1e-12);
  EXPECT_NEAR(accuracy.largest_absolute_error, 1, 1e-12);
  EXPECT_NEAR(accuracy.coverage, 0.75, 1e-12);
  EXPECT_FALSE(accuracy.pair_order) << "equal published times have no order";
  samples[3].published.step_s = 1.5;
  EXPECT_EQ(accuracy_of(predictions).pair_order, 1);
  samples[3].published.step_s = 0.5;
  EXPECT_EQ(accuracy_of(predictions).pair_order, 0);
}

TEST(ScoreGate, NamesEveryScoreThatGotWorse) {
  const auto& score = score_of(ScoreSplit::zero_fit, "reference");
  const double mape = 100 * score.accuracy.mean_absolute_error;
  const auto missed = [&](const ExpectedScore& expected) {
    return missed_expectations({expected}, all_scores(), {ScoreSplit::zero_fit});
  };
  EXPECT_THAT(missed({ScoreSplit::zero_fit, "reference", 20, mape - 0.4}), IsEmpty());
  EXPECT_THAT(missed({ScoreSplit::zero_fit, "reference", 20, mape - 0.6}),
              ElementsAre(fmt::format("zero_fit, reference: the mean absolute error is {:.1f} %, it was {:.1f} %", mape,
                                      mape - 0.6)));
  EXPECT_THAT(missed({ScoreSplit::zero_fit, "reference", 21, mape}),
              ElementsAre(HasSubstr("20 rows are predicted, 21 were")));
  EXPECT_THAT(missed({ScoreSplit::zero_fit, "nobody", 1, 1}), ElementsAre(HasSubstr("no such score")));
  EXPECT_THAT(missed({ScoreSplit::extrapolation, "nobody", 1, 1}), IsEmpty()) << "the split was not computed";
}

}  // namespace
}  // namespace perfbench::predict
