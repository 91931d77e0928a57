// Charts: the ticks of their axes, the drawing, and the file that is made of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <pugixml.hpp>
#include <random>

#include "reports/content/report_charts.h"
#include "reports/render/chart/axis.h"
#include "reports/render/chart/scene.h"
#include "reports/render/chart/svg.h"
#include "tests/reports/golden_file.h"

namespace perfbench::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<const Shape*> shapes(const Scene& scene, const std::string& tag, const std::string& look = "") {
  std::vector<const Shape*> out;
  for (const auto& shape : scene.shapes) {
    const bool looks = std::any_of(shape.attributes.begin(), shape.attributes.end(), [&](const auto& attribute) {
      return attribute.first == "class" && attribute.second.starts_with(look);
    });
    if (shape.tag == tag && looks) out.push_back(&shape);
  }
  return out;
}

double number(const Shape& shape, const std::string& name) {
  for (const auto& [key, value] : shape.attributes) {
    if (key == name) return std::stod(value);
  }
  return std::nan("");
}

TEST(ChartTicks, AreRoundNumbersWithinTheRange) {
  EXPECT_THAT(axis_ticks({}, {0, 10}, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(axis_ticks({}, {0.1, 0.4}, 4), ElementsAre(0.1, 0.2, testing::DoubleNear(0.3, 1e-15), 0.4));
  const ChartAxis logarithmic{.title = "", .scale = Scale::logarithmic};
  EXPECT_THAT(axis_ticks(logarithmic, {1, 8}, 10), ElementsAre(1, 2, 5));
  EXPECT_THAT(axis_ticks(logarithmic, {4, 9}, 5), ElementsAre(4, 5, 6, 7, 8, 9)) << "too short for 1, 2, 5";
  const ChartAxis with_ticks{.title = "", .ticks = {1, 2, 4}};
  EXPECT_THAT(axis_ticks(with_ticks, {0, 10}, 5), ElementsAre(1, 2, 4));
  EXPECT_EQ(axis_range(logarithmic, {0, -1, 4, 8}).low, 3.2);
  EXPECT_EQ(axis_range(logarithmic, {0}).low, 1);
  EXPECT_THAT(axis_ticks(logarithmic, {0.009, 110}, 10), ElementsAre(0.01, 0.1, 1, 10, 100));
  const ChartAxis named{.title = "", .categories = {"a", "b", "c", "d", "e"}};
  EXPECT_THAT(axis_ticks(named, axis_range(named, {}), 3), ElementsAre(0, 2, 4));
}

TEST(ChartTicks, ARangeContainsAllValues) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> exponent(-12, 12);
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> values;
    for (int k = 0; k < 1 + i % 4; ++k) values.push_back(std::pow(10, exponent(random)) * (i % 3 == 0 ? -1 : 1));
    ChartAxis axis{.title = "", .from_zero = i % 2 == 0};
    if (i % 3 != 0 && i % 5 == 0) axis.scale = Scale::logarithmic;
    const auto range = axis_range(axis, values);
    const auto ticks = axis_ticks(axis, range, 6);
    EXPECT_LT(range.low, range.high);
    for (const double value : values) {
      EXPECT_LE(range.low, value);
      EXPECT_GE(range.high, value);
    }
    EXPECT_GE(ticks.size(), axis.scale == Scale::linear ? 2U : 0U);
    EXPECT_LE(ticks.size(), 14U);
    const double slack = 1e-9 * (range.high - range.low);
    for (const double tick : ticks) EXPECT_TRUE(tick >= range.low - slack && tick <= range.high + slack) << tick;
  }
}

Chart two_lines() {
  return {.key = "k",
          .title = "Step time",
          .x = {.title = "devices", .scale = Scale::logarithmic},
          .y = {.title = "s", .from_zero = true},
          .series = {{.name = "a",
                      .points = {{.x = 1, .y = 4, .low = 3.5, .high = 4.5}, {.x = 2, .y = 2}, {.x = 4, .y = 1}}},
                     {.name = "perfect", .marks = Marks::ideal, .points = {{.x = 1, .y = 4}, {.x = 4, .y = 1}}}},
          .spans = {{.name = "warm-up", .from = 1, .to = 2}}};
}

TEST(ChartScene, PutsPointsWhereTheirNumbersAre) {
  const auto scene = draw(two_lines());
  const auto dots = shapes(scene, "circle", "dot series-1");
  ASSERT_EQ(dots.size(), 3U);
  // Along a logarithmic axis equal factors have equal lengths, along a linear one equal differences have.
  EXPECT_NEAR(number(*dots[1], "cx") - number(*dots[0], "cx"), number(*dots[2], "cx") - number(*dots[1], "cx"), 0.11);
  EXPECT_NEAR(number(*dots[1], "cy") - number(*dots[0], "cy"), 2 * (number(*dots[2], "cy") - number(*dots[1], "cy")),
              0.21);
  EXPECT_EQ(dots[0]->text, "a, devices: 1, s: 4 (3.500 to 4.500)");
  EXPECT_EQ(shapes(scene, "line", "interval").size(), 1U);
  EXPECT_EQ(shapes(scene, "path", "ideal series-2").size(), 1U);
  EXPECT_EQ(shapes(scene, "rect", "shade").at(0)->text, "warm-up");
}

TEST(ChartScene, DrawsTheDistinguishablePointsOfVeryManyAndSaysSo) {
  Chart chart{
      .key = "k", .title = "t", .x = {.title = "step"}, .y = {.title = "s"}, .series = {{.name = "", .points = {}}}};
  auto& points = chart.series[0].points;
  for (int i = 0; i < 1'000'000; ++i) points.push_back({.x = static_cast<double>(i), .y = std::sin(i * 0.37)});
  points[654'321].y = 9;
  points[123'456].y = -9;
  const auto scene = draw(chart);
  const auto path = shapes(scene, "path").at(0)->attributes[0].second;
  EXPECT_LT(path.size(), 60'000U);
  EXPECT_THAT(shapes(scene, "text", "tick").back()->text, HasSubstr(" of 1000000 points drawn"));
  // The two outliers are drawn: at the top and at the bottom of the drawing.
  double top = 1e9;
  double bottom = 0;
  for (std::size_t at = 0; (at = path.find(' ', at)) != std::string::npos; ++at) {
    if (path[at + 1] == 'L') continue;
    const double y = std::stod(path.substr(at + 1));
    top = std::min(top, y);
    bottom = std::max(bottom, y);
  }
  Chart two = chart;
  two.series[0].points = {{.x = 0, .y = 9}, {.x = 999'999, .y = -9}};
  const auto drawn = draw(two);
  const auto dots = shapes(drawn, "circle");
  EXPECT_NEAR(top, number(*dots[0], "cy"), 0.11);
  EXPECT_NEAR(bottom, number(*dots[1], "cy"), 0.11);
}

TEST(ChartScene, APointBeyondTheEndOfAnAxisIsAnArrowWithItsNumber) {
  Chart chart{.key = "k",
              .title = "t",
              .x = {.title = "step"},
              .y = {.title = "ms", .from_zero = true, .end = 140},
              .series = {{.name = "", .points = {{.x = 0, .y = 4284}, {.x = 1, .y = 70}, {.x = 2, .y = 140}}}}};
  const auto far = draw(chart);
  const auto dots = shapes(far, "circle");
  ASSERT_EQ(dots.size(), 2U);
  const auto arrows = shapes(far, "path", "dot series-1");
  ASSERT_EQ(arrows.size(), 1U);
  EXPECT_EQ(arrows[0]->text, "step: 0, ms: 4284");
  EXPECT_EQ(shapes(far, "text", "tick").back()->text, "4284");
  chart.series[0].points[0].y = 140;
  const auto near = draw(chart);
  EXPECT_EQ(shapes(near, "path", "dot series-1").size(), 0U);
  EXPECT_EQ(number(*shapes(near, "circle").at(1), "cy"), number(*dots[0], "cy")) << "the others stay where they were";
}

// A page reads the values of what has no shape of its own from the scene.
TEST(ChartScene, PointsWithoutMarksAndBeyondTheAxisAreReadings) {
  Chart chart{
      .key = "k",
      .title = "t",
      .x = {.title = "step"},
      .y = {.title = "ms", .from_zero = true, .end = 140},
      .series = {{.name = "few", .points = {{.x = 0, .y = 4284}, {.x = 1, .y = 70}}}, {.name = "many", .points = {}}}};
  for (int i = 0; i < 200; ++i) chart.series[1].points.push_back({.x = i * 1.0, .y = i % 7 + 60.0});
  const auto scene = draw(chart);
  ASSERT_EQ(scene.readings.size(), 201U) << "the dot of the other point has its own description";
  EXPECT_EQ(scene.readings[0].text, "few, step: 0, ms: 4284") << "its number, and not the end of the axis";
  EXPECT_EQ(scene.readings[18].text, "many, step: 17, ms: 63");
  EXPECT_LT(scene.readings[17].x, scene.readings[18].x);
}

// 2, 3 and 5 mean bad, good and doubtful in a page's text, too (colours.css).
TEST(ChartScene, ASeriesHasTheColourOfItsMeaning) {
  Chart chart{.key = "c", .title = "c", .x = {.title = "x"}, .y = {.title = "y"}, .series = {}};
  for (const auto colour : {Colour::doubtful, Colour::by_place, Colour::good, Colour::bad}) {
    chart.series.push_back({.name = "", .marks = Marks::points, .points = {{.x = 1, .y = 1}}, .colour = colour});
  }
  const auto scene = draw(chart);
  std::vector<std::string> looks;
  for (const auto* dot : shapes(scene, "circle")) looks.push_back(dot->attributes.back().second);
  // Each appears twice: at its point, then before its name.
  EXPECT_THAT(looks, ElementsAre("dot series-5", "dot series-2", "dot series-3", "dot series-2", "dot series-5",
                                 "dot series-2", "dot series-3", "dot series-2"));
}

Chart three_rows() {
  return {.key = "k",
          .title = "decisions",
          .x = {.title = "metric", .categories = {"step_time_s, model=a", "short", std::string(90, 'x')}},
          .y = {.title = "change (%)", .from_zero = true},
          .series = {{.name = "does not matter", .marks = Marks::strips, .points = {{.x = 0, .low = -2, .high = 2}}},
                     {.name = "REGRESSED",
                      .marks = Marks::points,
                      .points = {{.x = 0, .y = 10, .low = 8, .high = 12, .text = "+10 %"}, {.x = 1, .y = 0}}},
                     {.name = "bars", .marks = Marks::bars, .points = {{.x = 2, .y = -5}}}},
          .sideways = true};
}

TEST(ChartScene, ASidewaysChartHasARowForEachCategoryAndValuesToTheRight) {
  const auto scene = draw(three_rows());
  const auto dots = shapes(scene, "circle", "dot series-2");
  ASSERT_GE(dots.size(), 2U);
  EXPECT_GT(number(*dots[0], "cx"), number(*dots[1], "cx")) << "10 is to the right of 0";
  EXPECT_LT(number(*dots[0], "cy"), number(*dots[1], "cy")) << "the first row is above the second";
  const auto strip = *shapes(scene, "rect", "strip").at(0);
  EXPECT_NEAR(number(strip, "x") + number(strip, "width") / 2, number(*dots[1], "cx"), 0.11) << "around 0";
  const auto bar = *shapes(scene, "rect", "bar").at(0);
  EXPECT_NEAR(number(bar, "x") + number(bar, "width"), number(*dots[1], "cx"), 0.11) << "from -5 to 0";
  std::vector<std::string> texts;
  for (const auto* shape : shapes(scene, "text")) texts.push_back(shape->text);
  EXPECT_THAT(texts, testing::Contains("step_time_s, model=a"));
  EXPECT_THAT(texts, testing::Contains("+10 %"));
  EXPECT_THAT(texts, testing::Contains(std::string(44, 'x'))) << "a long name is wrapped, and all of it is there";
  EXPECT_THAT(texts, testing::Contains(std::string(2, 'x')));
  EXPECT_EQ(number(*shapes(scene, "line", "interval").at(0), "y1"), number(*dots[0], "cy")) << "from left to right";
}

TEST(ChartScene, AStackedBarBeginsWhereTheOneBeforeItEnds) {
  const Chart chart{.key = "k",
                    .title = "t",
                    .x = {.title = "rank", .categories = {"0", "1"}},
                    .y = {.title = "ms", .from_zero = true},
                    .series = {{.name = "a", .marks = Marks::stacked, .points = {{.x = 0, .y = 10}, {.x = 1, .y = 20}}},
                               {.name = "b", .marks = Marks::stacked, .points = {{.x = 0, .y = 30}, {.x = 1, .y = 5}}}},
                    .sideways = true};
  const auto scene = draw(chart);
  const auto first = shapes(scene, "rect", "bar series-1");
  const auto second = shapes(scene, "rect", "bar series-2");
  ASSERT_GE(first.size(), 2U);
  ASSERT_GE(second.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(number(*first[i], "y"), number(*second[i], "y"));
    EXPECT_NEAR(number(*first[i], "x") + number(*first[i], "width"), number(*second[i], "x"), 0.11);
  }
  EXPECT_NEAR(number(*second[0], "width"), 3 * number(*first[0], "width"), 0.4) << "30 and 10, each rounded to 0.1";
  EXPECT_GE(scene.y.high, 40) << "the axis holds the sum";
  EXPECT_EQ(second[0]->text, "b, rank: 0, ms: 30") << "and not the sum";
}

TEST(ChartScene, AHeatMapHasARectangleForEachPairOfCategories) {
  Chart chart{.key = "k",
              .title = "t",
              .x = {.title = "remat", .categories = {"none", "full"}},
              .y = {.title = "attention", .categories = {"flash", "dot"}},
              .series = {{.name = "",
                          .marks = Marks::heat,
                          .points = {{.x = 0, .y = 0, .label = "best", .text = "40 %", .depth = 1},
                                     {.x = 1, .y = 1, .text = std::string(200, 'x'), .depth = 0}}}},
              .sideways = true};
  const auto scene = draw(chart);
  const auto boxes = shapes(scene, "rect", "heat");
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_EQ(boxes[0]->text, "remat: none, attention: flash, best");
  EXPECT_NEAR(number(*boxes[0], "x") + number(*boxes[0], "width"), number(*boxes[1], "x"), 0.11);
  EXPECT_NEAR(number(*boxes[0], "y") + number(*boxes[0], "height"), number(*boxes[1], "y"), 0.11);
  EXPECT_GT(number(*boxes[0], "fill-opacity"), number(*boxes[1], "fill-opacity"));
  const auto inside = shapes(scene, "text", "inside");
  ASSERT_EQ(inside.size(), 1U) << "a text that does not fit is left to the description";
  EXPECT_EQ(inside[0]->text, "40 %");
  EXPECT_NEAR(number(*inside[0], "x"), number(*boxes[0], "x") + number(*boxes[0], "width") / 2, 0.11);
}

TEST(ChartScene, NamesBesidePointsDoNotCoverEachOther) {
  Chart chart{
      .key = "k", .title = "t", .x = {.title = "x"}, .y = {.title = "y"}, .series = {{.name = "", .points = {}}}};
  chart.series[0].marks = Marks::points;
  for (int i = 0; i < 12; ++i) {
    chart.series[0].points.push_back({.x = 5, .y = 5 + 0.01 * i, .text = "name " + std::to_string(i)});
  }
  chart.series[0].points.push_back({.x = 0, .y = 0});
  chart.series[0].points.push_back({.x = 10, .y = 10});
  const auto scene = draw(chart);
  std::vector<double> heights;
  for (const auto* shape : shapes(scene, "text", "tick")) {
    if (shape->text.starts_with("name ")) heights.push_back(number(*shape, "y"));
  }
  ASSERT_GE(heights.size(), 3U);
  EXPECT_LT(heights.size(), 12U) << "those without room are left to the description of their points";
  std::sort(heights.begin(), heights.end());
  for (std::size_t i = 1; i < heights.size(); ++i) EXPECT_GE(heights[i] - heights[i - 1], 14.9);
}

TEST(ChartAxis, ValuesAreShownInAUnitThatSuitsThem) {
  auto chart = two_lines();
  for (auto& series : chart.series) {
    for (auto& point : series.points) point.y *= 1e-3;
  }
  chart.y.from_zero = false;
  show_in_unit(chart, "step time", "s");
  EXPECT_EQ(chart.y.title, "step time (ms)");
  EXPECT_NEAR(chart.series[0].points[0].y, 4, 1e-12);
  EXPECT_NEAR(*chart.series[0].points[0].low, 3500, 1e-9);
  chart.series[0].points[0].y = 3e9;
  chart.y.from_zero = true;
  show_in_unit(chart, "memory", "bytes");
  EXPECT_EQ(chart.y.title, "memory (GiB)") << "from zero, the largest value decides";
}

TEST(ChartScene, AChartWithoutPointsHasItsAxes) {
  const auto scene = draw({.key = "k", .title = "empty", .x = {.title = "x"}, .y = {.title = "y"}, .series = {}});
  EXPECT_TRUE(shapes(scene, "circle").empty());
  EXPECT_EQ(shapes(scene, "text", "title").size(), 2U);
}

TEST(ChartSvg, MatchesTheGoldenFile) {
  expect_golden("chart.svg", svg({draw(two_lines())}));
}

// Names are text; elements and attributes come only from the drawing.
TEST(ChartSvg, NamesThatLookLikeMarkupAreText) {
  auto chart = two_lines();
  const std::string hostile = "\"><script>alert(1)</script><image href='https://example.invalid/'/>\u202e\uffff&";
  chart.title = chart.x.title = chart.y.title = chart.series[0].name = chart.spans[0].name = hostile;
  chart.series[0].points[0].label = hostile;
  chart.x.categories = {hostile, hostile, hostile, hostile, hostile};
  chart.x.scale = Scale::linear;
  const auto text = svg({draw(chart)});
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("<image")));
  EXPECT_THAT(text, Not(HasSubstr("\u202e")));
  EXPECT_THAT(text, Not(HasSubstr("\uffff"))) << "no character of XML";
  pugi::xml_document parsed;
  ASSERT_TRUE(parsed.load_string(text.c_str()));
  EXPECT_THAT(parsed.child("svg").child("text").text().as_string(), HasSubstr("<script>alert(1)</script>"));
  EXPECT_THAT(text, Not(HasSubstr("var("))) << "a name of a colour that not every program knows";
  EXPECT_THAT(text, Not(HasSubstr("light-dark")));
}

ReportRow row_of(std::int64_t devices, std::int64_t batch, double step_time) {
  ReportRow row;
  row.model = "m";
  row.parameters = 1000;
  row.seq_len = 64;
  row.devices = devices;
  row.global_batch = batch;
  row.batch_per_device = static_cast<double>(batch) / static_cast<double>(devices);
  row.step_time_s = step_time;
  row.mfu_fraction = 0.5;
  row.attention = "flash";
  return row;
}

TEST(ScalingCharts, UseRowsThatDifferOnlyAlongTheirAxis) {
  auto other = row_of(2, 8, 3);
  other.attention = "dot_product";
  const auto charts = scaling_charts({row_of(4, 8, 1.2), row_of(1, 8, 4), row_of(2, 8, 2.2), other});
  ASSERT_EQ(charts.size(), 2U);
  EXPECT_EQ(charts[0].key, "scaling_step_time_by_devices");
  ASSERT_EQ(charts[0].series.size(), 2U);
  const auto ys = [](const ChartSeries& series) {
    std::vector<double> out;
    for (const auto& point : series.points) out.push_back(point.y);
    return out;
  };
  EXPECT_THAT(ys(charts[0].series[0]), ElementsAre(4, 2.2, 1.2));
  EXPECT_EQ(charts[0].series[1].marks, Marks::ideal);
  EXPECT_THAT(ys(charts[0].series[1]), ElementsAre(4, 2, 1));
  EXPECT_EQ(charts[1].key, "scaling_mfu_by_devices");
  // The same work on each device takes the same time at best.
  const auto weak = scaling_charts({row_of(1, 8, 4), row_of(2, 16, 4.5)});
  ASSERT_EQ(weak.size(), 2U);
  EXPECT_EQ(weak[0].key, "scaling_step_time_by_devices_per_batch");
  EXPECT_THAT(ys(weak[0].series[1]), ElementsAre(4, 4));
  EXPECT_TRUE(scaling_charts({row_of(1, 8, 4)}).empty());
  EXPECT_TRUE(scaling_charts({row_of(1, 8, 4), other}).empty());
}

TEST(MemoryCharts, NameTheCellsThatNoOtherBeatsInBoth) {
  const auto row = [](const char* cell, double mebibytes, double tokens) {
    auto out = row_of(1, 8, 1);
    out.cell = cell;
    out.peak_memory_bytes = mebibytes * 1024 * 1024;
    out.tokens_per_s = tokens;
    return out;
  };
  const std::vector<ReportRow> rows{row("model=m remat=none", 40, 200), row("model=m remat=full dp=2", 20, 150),
                                    row("model=m remat=bad", 30, 140)};
  const auto charts = memory_charts(rows);
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_EQ(charts[0].x.title, "memory of a device (MiB)");
  ASSERT_EQ(charts[0].series.size(), 1U);
  std::vector<std::string> names;
  for (const auto& point : charts[0].series[0].points) names.push_back(point.text);
  EXPECT_THAT(names, ElementsAre("none", "full dp=2", ""));
  EXPECT_TRUE(memory_charts({rows[0], rows[1]}).empty());
}

}  // namespace
}  // namespace perfbench::reports
