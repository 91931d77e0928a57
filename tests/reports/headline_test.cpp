#include "reports/content/headline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perfbench::reports {
namespace {

using harness::Verdict;

Judged of(const std::string& cell, Verdict verdict, double ratio = 1) {
  return {.cell = cell, .metric = "step_time_s", .verdict = verdict, .ratio = ratio};
}

TEST(Headline, CountsTheCellsAndNamesTheWorst) {
  auto worst = of("model=b", Verdict::regressed, 1.124);
  worst.ratio_low = 1.118;
  worst.ratio_high = 1.131;
  worst.since = "4f2a91c3..9bc1d020";
  auto memory = of("model=b", Verdict::regressed, 1.02);  // the same cell, which counts once
  memory.metric = "peak_memory_bytes";
  const auto line = headline(Verdict::regressed, {of("model=a", Verdict::regressed, 1.05), worst, memory,
                                                  of("model=c", Verdict::improved, 0.5)});
  EXPECT_EQ(line.text,
            "REGRESSED: 2 of 3 cells, worst +12.4 % (95 %: +11.8 % to +13.1 %), step_time_s of model=b, since "
            "4f2a91c3..9bc1d020");
  EXPECT_EQ(line.tone, Tone::bad);
}

// A rate that falls to a half is a larger change than a time that grows by a half.
TEST(Headline, ComparesChangesAsRatios) {
  EXPECT_EQ(headline(Verdict::improved, {of("a", Verdict::improved, 1.5), of("b", Verdict::improved, 0.5)}).text,
            "IMPROVED: 2 of 2 cells, best -50.0 %, step_time_s of b");
}

TEST(Headline, SaysHowManyCellsAreOpen) {
  EXPECT_EQ(headline(Verdict::inconclusive, {of("a", Verdict::inconclusive), of("b", Verdict::same)}).text,
            "INCONCLUSIVE: 1 of 2 cells");
  EXPECT_EQ(headline(Verdict::same, {of("a", Verdict::same)}).text, "SAME: 1 of 1 cell");
  EXPECT_EQ(headline(Verdict::regressed, {}).text, "REGRESSED") << "an alert may be all that is bad";
}

TEST(Headline, NamesACellThatHasNoRatio) {
  auto vanished = of("a", Verdict::regressed);
  vanished.ratio = std::nullopt;
  EXPECT_EQ(headline(Verdict::regressed, {vanished}).text, "REGRESSED: 1 of 1 cell");
}

TEST(VerdictCards, CountEachCellByItsWorstVerdictAndShowTheLargestChange) {
  auto worst = of("model=b", Verdict::regressed, 1.124);
  worst.ratio_low = 1.118;
  worst.ratio_high = 1.131;
  auto better = of("model=b", Verdict::improved, 0.5);
  better.metric = "peak_memory_bytes";
  const auto cards = verdict_cards({better, worst, of("model=c", Verdict::same)}).cards;
  ASSERT_EQ(cards.size(), 3U);
  EXPECT_EQ(cards[0].title, "REGRESSED");
  EXPECT_EQ(cards[0].value, "1 of 2") << "its improvement in memory does not make it another cell";
  EXPECT_EQ(cards[0].tone, Tone::bad);
  EXPECT_EQ(cards[1].title, "SAME");
  EXPECT_EQ(cards[2].value, "+12.4 %");
  EXPECT_EQ(cards[2].detail, "+11.8 % to +13.1 %, step_time_s of model=b");
}

TEST(DecisionsChart, HasTheWorstVerdictFirstAndTheMarginBehindIt) {
  auto slower = of("model=a", Verdict::regressed, 1.1);
  slower.ratio_low = 1.08;
  slower.ratio_high = 1.12;
  slower.margin_fraction = 0.02;
  auto unknown = of("model=a", Verdict::inconclusive);
  unknown.ratio = std::nullopt;
  const auto chart = decisions_chart({of("model=b", Verdict::same, 1.5), unknown, slower}, "changes");
  EXPECT_THAT(chart.x.categories, testing::ElementsAre("step_time_s, model=a", "step_time_s, model=b"));
  ASSERT_EQ(chart.series.size(), 3U);
  EXPECT_EQ(chart.series[0].marks, Marks::strips);
  EXPECT_NEAR(*chart.series[0].points[0].high, 2, 1e-9);
  EXPECT_EQ(chart.series[1].name, "REGRESSED");
  EXPECT_EQ(chart.series[1].points[0].text, "+10.0 % (+8.0 % to +12.0 %)");
  EXPECT_NEAR(*chart.series[1].points[0].low, 8, 1e-9);
  EXPECT_EQ(chart.title, "changes");
}

TEST(DecisionsChart, ShowsTheFirstRowsAndTheirNumber) {
  std::vector<Judged> many;
  for (int i = 0; i < 40; ++i) many.push_back(of("c" + std::to_string(i), Verdict::same, 1 + 0.001 * i));
  many.push_back(of("slower", Verdict::regressed, 1.05));
  const auto chart = decisions_chart(many, "changes");
  EXPECT_EQ(chart.x.categories.size(), 16U);
  EXPECT_EQ(chart.x.categories.front(), "step_time_s, slower");
  EXPECT_EQ(chart.title, "changes, the first 16 of 41");
}

}  // namespace
}  // namespace perfbench::reports
