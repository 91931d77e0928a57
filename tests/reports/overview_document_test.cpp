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
  int night = 0;
  for (const double value : values) {
    out.nights.push_back({.night = harness::example_night(++night), .machine = "m", .value = value, .runs = 1});
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
    rows.push_back(row.cells[0].text + " " + row.cells[4].text + " " + row.cells[5].text);
  EXPECT_THAT(rows,
              ElementsAre("b -50.0 % \u2588\u2588\u2588\u2581", "a +1.0 % \u2583\u2583\u2583\u2586", "new - \u2585"));
}

// A change of machine is no change of speed.
TEST(OverviewDocument, ComparesNightsOfOneMachine) {
  Overview overview{.name = "perf.db", .history = {nights_of_cell("model=a", {1, 1, 2, 2.2})}};
  for (std::size_t i = 2; i < 4; ++i) overview.history[0].nights[i].machine = "other";
  const auto document = overview_document(overview);
  const auto* table = table_with_key(document, "series");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows[0].cells[4].text, "+10.0 %");
}

TEST(OverviewDocument, SaysHowManySeriesAreLeftOut) {
  Overview overview{.name = "perf.db"};
  for (int i = 0; i < 11; ++i) overview.history.push_back(nights_of_cell("n=" + std::to_string(i), {1, 1}));
  EXPECT_THAT(render_text(overview_document(overview), {}), HasSubstr("3 more series are in the history."));
}

TEST(OverviewDocument, ShowsTheProgressOfRunningSweeps) {
  Overview overview{.name = "perf.db"};
  EXPECT_EQ(table_with_key(overview_document(overview), "running"), nullptr);
  overview.running = {
      {.sweep_id = "s1", .matrix = "llama", .attempts = 12, .finished = 5, .cell = "model=a", .left_s = 185},
      {.sweep_id = "s2", .matrix = "llama", .attempts = 12, .finished = 0, .cell = "model=a"}};
  const auto document = overview_document(overview);
  const auto* table = table_with_key(document, "running");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows[0].cells[2].text, "5 of 12");
  EXPECT_EQ(table->rows[0].cells[3].text, "3 min 05 s");
  EXPECT_EQ(table->rows[1].cells[3].text, "-") << "nothing has finished";
  EXPECT_THAT(render_text(document, {}), Not(HasSubstr("series")));
}

}  // namespace
}  // namespace perfbench::reports
