#include "harness/predict/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "harness/predict/prediction.h"
#include "tests/harness/predict/predictor_inputs.h"

namespace perfbench::predict {
namespace {

// The well-specified rows of one family, whose published times are replaced by `seconds_of`.
std::vector<Sample> made_rows(const std::string& family, const std::function<double(const Sample&)>& seconds_of) {
  std::vector<Sample> out;
  for (const auto& sample : shipped().samples) {
    if (sample.published.family != family || !sample.published.well_specified()) continue;
    out.push_back(sample);
    out.back().published.step_s = seconds_of(sample);
  }
  return out;
}

Samples pointers(const std::vector<Sample>& samples) {
  Samples out;
  for (const auto& sample : samples) out.push_back(&sample);
  return out;
}

double zero_fit_s(const Sample& sample) {
  return step_time(sample.parts).total_s;
}

TEST(Calibration, WithoutRowsChangesNothing) {
  const Calibration none(Samples{});
  const auto& row = shipped_row("seqax/1b-8xa100");
  EXPECT_EQ(step_time(row.parts, none.corrections(row.published)).total_s, zero_fit_s(row));
  EXPECT_TRUE(none.constants().empty());
}

TEST(Calibration, LeavesConstantsAtZeroIfTheRowsAgreeWithThem) {
  const auto rows = made_rows("llm-foundry", zero_fit_s);
  for (const auto& [name, value] : Calibration(pointers(rows)).constants()) EXPECT_NEAR(value, 0, 1e-6) << name;
}

TEST(Calibration, RecoversPlantedConstants) {
  constexpr double kMatmul = 0.10;
  constexpr double kAttention = 0.25;
  const auto rows = made_rows("llm-foundry", [](const Sample& sample) {
    return step_time(sample.parts, {.matmul = kMatmul, .attention = kAttention}).total_s;
  });
  ASSERT_GT(rows.size(), 200U);
  CalibrationChoice one_group{.shared = false, .architectures = false};
  one_group.group = [](const PublishedCase& row) { return row.family; };
  const auto constants = Calibration(pointers(rows), one_group).constants();
  ASSERT_EQ(constants.size(), 2U);
  EXPECT_NEAR(constants.at("llm-foundry group matmul"), kMatmul, 0.002);
  EXPECT_NEAR(constants.at("llm-foundry group attention"), kAttention, 0.01);
}

TEST(Calibration, PullsAFewRowsTowardsThePriors) {
  const auto slower = [](const Sample& sample) { return 1.5 * zero_fit_s(sample); };
  auto rows = made_rows("maxtext", slower);
  ASSERT_EQ(rows.size(), 1U);
  const auto& row = rows.front();
  const Calibration fitted(pointers(rows));
  const double ratio = step_time(row.parts, fitted.corrections(row.published)).total_s / zero_fit_s(row);
  EXPECT_GT(ratio, 1.05);
  EXPECT_LT(ratio, 1.45);
}

TEST(Calibration, OneWrongRowMovesItLittle) {
  auto rows = made_rows("llm-foundry", zero_fit_s);
  rows.front().published.step_s *= 10;
  for (const auto& [name, value] : Calibration(pointers(rows)).constants()) EXPECT_NEAR(value, 0, 0.05) << name;
}

TEST(Calibration, IsLessSureOfAGroupThatItHasNotSeen) {
  const auto rows = made_rows("llm-foundry", zero_fit_s);
  const Calibration fitted(pointers(rows));
  EXPECT_LT(fitted.deviation(rows.front()), 0.5 * Calibration().deviation(rows.front()));
  const auto& other = shipped_row("fms-fsdp/7b-h100");
  EXPECT_GT(fitted.deviation(other), 2 * fitted.deviation(rows.front()));
}

// Noise of a normal distribution: intervals from other rows must cover 80 %. With 216 rows the share has a standard
// deviation of 2.7 %, and the tested range is three of them on either side.
TEST(Interval, CoversPlantedNoise) {
  for (const double noise : {0.02, 0.2}) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal(0, noise);
    const auto rows =
        made_rows("llm-foundry", [&](const Sample& sample) { return zero_fit_s(sample) * std::exp(normal(random)); });
    auto predictions = predict(Calibration(), pointers(rows));
    set_intervals_by_others(predictions, [](const PublishedCase& row) { return row.name; });
    double covered = 0;
    for (const auto& p : predictions) {
      covered += p.low_s() <= p.sample->published.step_s && p.sample->published.step_s <= p.high_s() ? 1 : 0;
    }
    EXPECT_NEAR(covered / static_cast<double>(rows.size()), 0.8, 0.08) << noise;
  }
}

TEST(Interval, IsWiderForAnUnderspecifiedRow) {
  auto rows = made_rows("maxtext", zero_fit_s);
  auto guessed = rows;
  guessed.front().published.unknown = {"the batch"};
  EXPECT_GT(predict(Calibration(), pointers(guessed)).front().deviation,
            predict(Calibration(), pointers(rows)).front().deviation + 0.05);
}

}  // namespace
}  // namespace perfbench::predict
