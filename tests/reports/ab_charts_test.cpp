// The results of two sides as charts: pairs that do not count are shown, with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/content/ab_report.h"

namespace perfbench::reports {
namespace {

using harness::Verdict;
using testing::SizeIs;

harness::CellVerdict cell(const std::string& label, Verdict verdict) {
  harness::CellVerdict out{.label = label};
  out.pairs_seen = {{.number = 1, .step_ratio = 1.1, .discarded = ""},
                    {.number = 2, .step_ratio = 0.7, .discarded = "B: 22 % foreign load"},
                    {.number = 3, .step_ratio = std::nullopt, .discarded = "A crashed"},
                    {.number = 4, .step_ratio = 1.2, .discarded = ""}};
  harness::MetricVerdict metric;
  metric.rule.metric = "step_time_s";
  metric.rule.margin_fraction = 0.02;
  metric.decided.decision.verdict = verdict;
  metric.decided.decision.ratio = 1.15;
  out.metrics.push_back(metric);
  return out;
}

const Chart* find(const std::vector<Chart>& charts, const std::string& key) {
  for (const auto& chart : charts) {
    if (chart.key == key) return &chart;
  }
  return nullptr;
}

const ChartSeries* find(const Chart& chart, const std::string& name) {
  for (const auto& series : chart.series) {
    if (series.name == name) return &series;
  }
  return nullptr;
}

TEST(AbCharts, DrawEachPairAndWhyOneDoesNotCount) {
  const auto charts = ab_charts({cell("a", Verdict::regressed)});
  const auto* pairs = find(charts, "pairs_a");
  ASSERT_NE(pairs, nullptr);
  const auto* counts = find(*pairs, "kept");
  ASSERT_NE(counts, nullptr);
  ASSERT_THAT(counts->points, SizeIs(2));
  EXPECT_EQ(counts->points[1].x, 4);
  EXPECT_NEAR(counts->points[1].y, 20, 1e-9);
  const auto* discarded = find(*pairs, "discarded");
  ASSERT_NE(discarded, nullptr);
  ASSERT_THAT(discarded->points, SizeIs(1)) << "one that crashed has no ratio";
  EXPECT_EQ(discarded->points[0].label, "B: 22 % foreign load");
  const auto* estimate = find(*pairs, "estimate");
  ASSERT_NE(estimate, nullptr);
  EXPECT_NEAR(estimate->points[0].y, 15, 1e-9);
  EXPECT_NEAR(find(*pairs, "margin, faster")->points[1].y, 100 * (1 / 1.02 - 1), 1e-9) << "the same factor down";
}

TEST(AbCharts, AreInTheColoursOfVerdicts) {
  const auto charts = ab_charts({cell("a", Verdict::inconclusive), cell("b", Verdict::regressed)});
  const auto* all = find(charts, "decisions");
  ASSERT_NE(all, nullptr);
  EXPECT_THAT(all->x.categories, testing::ElementsAre("step_time_s, b", "step_time_s, a")) << "the worst first";
  EXPECT_EQ(find(*all, "REGRESSED")->colour, Colour::bad);
  EXPECT_EQ(find(*all, "INCONCLUSIVE")->colour, Colour::doubtful);
  const auto of_one = ab_charts({cell("a", Verdict::same)});
  EXPECT_THAT(find(of_one, "decisions")->x.categories, testing::ElementsAre("step_time_s"));
  EXPECT_EQ(find(*find(of_one, "decisions"), "SAME")->colour, Colour::plain);
}

TEST(AbCharts, HaveAWaterfallForACellWhosePartsAreKnown) {
  auto known = cell("a", Verdict::regressed);
  known.attribution = harness::Attribution{
      .a_s = 0.1,
      .b_s = 0.13,
      .shares = {{.name = "matmul", .a_s = 0.05, .b_s = 0.09}, {.name = "idle", .a_s = 0.05, .b_s = 0.04}}};
  const auto charts = ab_charts({known});
  const auto* parts = find(charts, "waterfall_a");
  ASSERT_NE(parts, nullptr);
  // From A, up by 40 ms, down by 10 ms: the end of B's bar.
  EXPECT_NEAR(*find(*parts, "longer")->points[0].high, 140, 1e-9);
  EXPECT_NEAR(*find(*parts, "shorter")->points[0].low, 130, 1e-9);
  EXPECT_NEAR(find(*parts, "step")->points.back().y, 130, 1e-9);
}

TEST(AbCharts, ShowTheCellsThatDifferIfThereAreMany) {
  std::vector<harness::CellVerdict> cells;
  for (int i = 0; i < 40; ++i) cells.push_back(cell("same" + std::to_string(i), Verdict::same));
  cells.push_back(cell("slower", Verdict::regressed));
  const auto charts = ab_charts(cells);
  EXPECT_THAT(charts, SizeIs(13)) << "all decisions, and twelve cells";
  EXPECT_NE(find(charts, "pairs_slower"), nullptr);
}

}  // namespace
}  // namespace perfbench::reports
