#include "workloads/spec/metric_catalog.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace perfbench::spec {
namespace {

TEST(MetricCatalog, NamesEachMetricOnceWithUnitAndDescription) {
  std::set<std::string_view> tags;
  const std::set<std::string_view> units{"s", "days", "bytes", "1/s", "fraction", "nats", "count", "J", "1"};
  for (const auto& metric : kMetricCatalog) {
    EXPECT_TRUE(tags.insert(metric.tag).second) << metric.tag;
    EXPECT_TRUE(units.contains(metric.unit)) << metric.tag;
    EXPECT_FALSE(metric.description.empty()) << metric.tag;
  }
}

TEST(MetricCatalog, PutsTheUnitIntoTheName) {
  const std::map<std::string_view, std::string_view> part_of_name{
      {"bytes", "_bytes"}, {"fraction", "_fraction"}, {"s", "_s"}, {"1/s", "_per_s"}, {"days", "_days"}, {"J", "_j"}};
  for (const auto& metric : kMetricCatalog) {
    const auto found = part_of_name.find(metric.unit);
    if (found == part_of_name.end()) continue;
    EXPECT_NE(metric.tag.find(found->second), std::string_view::npos) << metric.tag;
  }
}

TEST(MetricCatalog, ExplainsWhyARunMayLackEachMetric) {
  for (const auto& metric : kMetricCatalog) EXPECT_FALSE(why_absent(metric.tag).empty()) << metric.tag;
  for (const auto& [tag, why] : kAbsences) EXPECT_TRUE(find_metric(tag)) << tag;
  EXPECT_NE(why_absent("mfu_fraction"), why_absent("step_time_s"));
}

TEST(MetricCatalog, KnowsWhichWayIsBetter) {
  EXPECT_EQ(find_metric("step_time_s")->direction, Direction::lower_is_better);
  EXPECT_EQ(find_metric("tokens_per_s")->direction, Direction::higher_is_better);
  EXPECT_EQ(find_metric("mfu_fraction")->direction, Direction::higher_is_better);
  EXPECT_EQ(find_metric("peak_memory_bytes")->direction, Direction::lower_is_better);
  EXPECT_FALSE(find_metric("step_time").has_value());
}

}  // namespace
}  // namespace perfbench::spec
