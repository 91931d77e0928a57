// The first page of a server: newest nights, running sweeps, and the series that changed most.
#include "reports/content/overview_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/render/document/render.h"
#include "tests/harness/example_alert.h"

namespace perfbench::reports {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

harness::SeriesHistory nights_of_cell(const std::string& cell, const std::vector<double>& values) {
  harness::SeriesHistory out{.matrix = "nightly", .cell = cell, .run_id = "r", .metric = "step_time_s"};
  const int newest = 9;
  int night = newest - static_cast<int>(values.size());
  for (const double value : values) {
    ++night;
    out.nights.push_back({.night = harness::example_night(night),
                          .started_s = 86400 * night,
                          .machine = "m",
                          .value = value,
                          .runs = 1});
  }
  return out;
}

const Table* table_with_key(const Document& document, const std::string& key) {
  for (const auto& block : document.blocks) {
    const auto* table = std::get_if<Table>(&block);
    if (table != nullptr && table->key == key) return table;
  }
  return nullptr;
}

TEST(OverviewDocument, BeginsWithTheAlertsAndTheNewestNights) {
  Overview overview{.name = "perf.db"};
  overview.nights = {{.matrix = "nightly", .made_utc = "2026-01-10T03:00:00Z", .verdict = harness::Verdict::regressed}};
  EXPECT_THAT(render_text(overview_document(overview), {}), HasSubstr("No alert is live."));
  overview.live_alerts = {harness::example_alert(harness::example_finding(), "aaaaaaaaaaaa")};
  const auto document = overview_document(overview);
  EXPECT_THAT(render_text(document, {}),
              AllOf(HasSubstr("1 live alert, 1 not acknowledged."), HasSubstr("aaaaaaaaaaaa")));
  const auto page = render_html(document);
  EXPECT_THAT(page, AllOf(HasSubstr("newest night of nightly"), HasSubstr("REGRESSED")));
}

TEST(OverviewDocument, ListsTheSeriesThatChangedMostFirst) {
  Overview overview{.name = "perf.db"};
  overview.history = {nights_of_cell("model=a", {1, 1, 1, 1.01}), nights_of_cell("model=b", {2, 2, 2, 1}),
                      nights_of_cell("model=new", {3})};
  overview.history.push_back(nights_of_cell("model=control", {1, 9}));
  overview.history.back().is_control = true;
  const auto document = overview_document(overview);
  const auto* table = table_with_key(document, "series");
  ASSERT_NE(table, nullptr);
  std::vector<std::string> rows;
  for (const auto& row : table->rows)
    rows.push_back(row.cells[0].text + " " + row.cells[1].text + " " + row.cells[3].text);
  EXPECT_THAT(rows, ElementsAre("model=b -50.0 % \u2588\u2588\u2588\u2581", "model=a +1.0 % \u2583\u2583\u2583\u2586",
                                "model=new - \u2585"));
}

// A change of machine is no change of speed, and a night on one machine says nothing about another.
TEST(OverviewDocument, ComparesNightsOfOneMachine) {
  Overview overview{.name = "perf.db", .history = {nights_of_cell("model=a", {1, 2, 1.2, 2.2})}};
  auto& nights = overview.history[0].nights;
  for (const std::size_t i : {1U, 3U}) nights[i].machine = "other";
  overview.nights = {{"nightly", nights[3].night.sweep_id, "2026-01-09T03:00:00Z", harness::Verdict::same},
                     {"nightly", nights[2].night.sweep_id, "2026-01-08T03:00:00Z", harness::Verdict::regressed},
                     {"nightly", nights[0].night.sweep_id, "2026-01-06T03:00:00Z", harness::Verdict::inconclusive}};
  const auto document = overview_document(overview);
  const auto* table = table_with_key(document, "series");
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(table->rows[0].cells[1].text, "+20.0 %");
  EXPECT_EQ(table->rows[1].cells[1].text, "+10.0 %");
  const auto* cards = std::get_if<Cards>(&document.blocks.at(2));
  ASSERT_NE(cards, nullptr);
  ASSERT_EQ(cards->cards.size(), 2U) << "the newest of each machine";
  EXPECT_EQ(cards->cards[0].value, "REGRESSED") << "the worst first";
  EXPECT_EQ(cards->cards[0].detail, "2026-01-08, machine m");
  EXPECT_EQ(cards->cards[1].detail, "2026-01-09, machine other");
}

TEST(OverviewDocument, LeavesOutCellsThatAreNotMeasuredAnyMore) {
  Overview overview{.name = "perf.db"};
  overview.history = {nights_of_cell("model=a", {1, 1, 1}), nights_of_cell("model=retired", {1, 2, 9})};
  overview.history[1].nights.pop_back();
  overview.history.push_back(nights_of_cell("model=old", {1, 5}));
  overview.history[2].matrix = "of last year";
  for (auto& night : overview.history[2].nights) night.started_s -= 86400 * 31;
  const auto document = overview_document(overview);
  const auto* table = table_with_key(document, "series");
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->rows.size(), 1U);
  EXPECT_EQ(table->rows[0].cells[0].text, "model=a");
}

TEST(OverviewDocument, SaysHowManySeriesAreLeftOut) {
  Overview overview{.name = "perf.db"};
  for (int i = 0; i < 11; ++i) overview.history.push_back(nights_of_cell("n=" + std::to_string(i), {1, 1}));
  EXPECT_THAT(render_text(overview_document(overview), {}), HasSubstr("3 more series are in the history."));
}

TEST(OverviewDocument, ShowsTheProgressOfRunningSweeps) {
  Overview overview{.name = "perf.db"};
  EXPECT_EQ(table_with_key(overview_document(overview), "running"), nullptr);
  overview.running = {{.sweep_id = "s1", .expected_end_utc = "2026-01-01T00:03:00Z", .attempts = 12, .finished = 5},
                      {.sweep_id = "s2", .attempts = 12, .finished = 0}};
  const auto document = overview_document(overview);
  const auto* table = table_with_key(document, "running");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows[0].cells[3].text, "5 of 12");
  EXPECT_EQ(table->rows[0].cells[6].text, "2026-01-01T00:03:00Z");
  EXPECT_EQ(table->rows[1].cells[6].text, "-") << "nothing has finished";
  EXPECT_THAT(render_text(document, {}), Not(HasSubstr("series")));
}

}  // namespace
}  // namespace perfbench::reports
