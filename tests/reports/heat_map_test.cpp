// Heat maps of a report: the choice of two axes, the best row of several, and rows that must not be combined.
#include "reports/content/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/system/input_error.h"

namespace perfbench::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ReportRow measured(const std::string& cell, double mfu) {
  ReportRow out;
  out.cell = cell;
  out.model = "m";
  out.subject = "abc";
  out.runs = 1;
  out.mfu_fraction = mfu;
  out.step_time_s = 1 - mfu;
  return out;
}

std::vector<ReportRow> grid() {
  return {measured("remat=none attention=flash batch=1", 0.4), measured("remat=full attention=flash batch=1", 0.3),
          measured("remat=none attention=dot batch=1", 0.2), measured("remat=full attention=dot batch=1", 0.1),
          measured("remat=full attention=dot batch=2", 0.15)};
}

std::vector<std::string> texts(const Chart& chart) {
  std::vector<std::string> out;
  for (const auto& point : chart.series.at(0).points) out.push_back(point.text);
  return out;
}

TEST(HeatMaps, CombineTheTwoAxesWithTheMostPairsAndShowTheBestOfTheOthers) {
  const auto maps = heat_maps(grid(), {}).charts;
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps[0].title, "MFU by remat and attention; the best of the other axes");
  EXPECT_THAT(maps[0].x.categories, ElementsAre("none", "full"));
  EXPECT_THAT(maps[0].y.categories, ElementsAre("flash", "dot"));
  EXPECT_THAT(texts(maps[0]), ElementsAre("40.0 %", "20.0 %", "30.0 %", "15.0 %"));
  EXPECT_EQ(maps[0].series[0].points[0].depth, 1);
  EXPECT_EQ(maps[0].series[0].points[3].depth, 0);
  EXPECT_THAT(maps[0].series[0].points[3].label, HasSubstr("batch=2"));
}

TEST(HeatMaps, UseTheAxesThatTheUserNames) {
  const auto maps = heat_maps(grid(), {"batch", "remat"}).charts;
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_THAT(maps[0].x.categories, ElementsAre("1", "2"));
  EXPECT_THAT(texts(maps[0]), ElementsAre("40.0 %", "30.0 %", "15.0 %"));
  check_heat_map_axes(grid(), {"batch", "remat"});
  for (const auto& axes : {std::vector<std::string>{"batch"}, {"batch", "batch"}, {"batch", "remat", "attention"}}) {
    EXPECT_THROW(check_heat_map_axes(grid(), axes), harness::InputError);
  }
  try {
    check_heat_map_axes(grid(), {"batch", "remt"});
    FAIL() << "no row has that axis";
  } catch (const harness::InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'remat'?"));
    EXPECT_THAT(e.what(), HasSubstr("remat, attention, batch"));
  }
}

// The best of two workloads, engines, machines or models would be the answer to a question that nobody asks.
TEST(HeatMaps, KeepMatricesSubjectsProcessorsAndModelsApart) {
  for (const auto fact : {&ReportRow::matrix, &ReportRow::subject, &ReportRow::processor, &ReportRow::model}) {
    auto rows = grid();
    for (auto row : grid()) {
      row.*fact = "other";
      rows.push_back(row);
    }
    const auto maps = heat_maps(rows, {}).charts;
    ASSERT_EQ(maps.size(), 2U);
    EXPECT_EQ(maps[0].key, "heat_map_1");
    EXPECT_THAT(maps[1].title, HasSubstr("other"));
  }
  auto rows = grid();
  for (auto& row : rows) row.cell = "model=" + row.model + " " + row.cell;
  for (auto row : grid()) {
    row.model = "n";
    row.cell = "model=n " + row.cell;
    rows.push_back(row);
  }
  EXPECT_EQ(heat_maps(rows, {"model", "remat"}).charts.size(), 1U);
}

TEST(HeatMaps, UseANumberThatAllRowsHave) {
  auto rows = grid();
  rows[1].mfu_fraction = {};
  const auto maps = heat_maps(rows, {}).charts;
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_THAT(maps[0].title, HasSubstr("Step time by"));
  EXPECT_EQ(texts(maps[0]).front(), "0.6000 s");
  EXPECT_EQ(maps[0].series[0].points[0].depth, 1) << "the shortest time is the best";
}

TEST(HeatMaps, HaveNumbersInOrderWhateverTheOrderOfTheRows) {
  std::vector<ReportRow> rows;
  for (const auto* batch : {"16", "2", "128"}) {
    for (const auto* remat : {"none", "full"}) {
      rows.push_back(measured(std::string("batch=") + batch + " remat=" + remat, 0.2));
    }
  }
  const auto maps = heat_maps(rows, {}).charts;
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_THAT(maps[0].x.categories, ElementsAre("2", "16", "128"));
  EXPECT_THAT(maps[0].y.categories, ElementsAre("none", "full")) << "as the rows have them";
  EXPECT_EQ(maps[0].series[0].points[0].depth, 1) << "equal values";
}

TEST(HeatMaps, AreAtMostEightAndSayHowManyMoreThereAre) {
  std::vector<ReportRow> rows;
  for (int i = 0; i < 11; ++i) {
    for (auto row : grid()) {
      row.subject = "engine " + std::to_string(i);
      rows.push_back(row);
    }
  }
  const auto maps = heat_maps(rows, {}).charts;
  ASSERT_EQ(maps.size(), 8U);
  EXPECT_THAT(maps.back().title, HasSubstr("; 3 more maps are not drawn"));
}

TEST(HeatMaps, SayWhyThereIsNoneForNamedAxes) {
  const std::vector<ReportRow> apart{measured("a=1 c=1", 0.2), measured("b=1 c=2", 0.3)};
  EXPECT_EQ(heat_maps(apart, {"a", "b"}).why_not, "no measured row has both a and b");
  auto program = grid();
  program[0].mfu_fraction = {};
  program[0].step_time_s = {};
  EXPECT_EQ(heat_maps(program, {"remat", "batch"}).why_not, "the rows have no number in common");
}

TEST(HeatMaps, NeedAGrid) {
  const auto rows = grid();
  EXPECT_THAT(heat_maps({rows[0], rows[1]}, {}).charts, IsEmpty()) << "one axis has one value";
  EXPECT_THAT(heat_maps({}, {}).charts, IsEmpty());
  auto unmeasured = grid();
  for (auto& row : unmeasured) row.runs = 0;
  EXPECT_THAT(heat_maps(unmeasured, {}).charts, IsEmpty());
}

}  // namespace
}  // namespace perfbench::reports
