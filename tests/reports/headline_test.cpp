#include "reports/content/headline.h"

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

}  // namespace
}  // namespace perfbench::reports
