// Which fields of runs get a column in a report: those that alone distinguish rows, and some that always do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/content/report_document.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

// Two rows that also differ in `remat`.
reports::Report two_rows(const std::string& field, const std::string& left, const std::string& right) {
  reports::Report report{.title = "t", .definition = {}, .baseline = {}, .rows = {}, .left_out = {}};
  report.rows.resize(2);
  report.rows[0].remat = "none";
  report.rows[1].remat = "full";
  report.rows[0].varied = {{"remat", "none"}, {field, left}};
  report.rows[1].varied = {{"remat", "full"}, {field, right}};
  return report;
}

// A faster row whose bits do not repeat is not a faster engine.
TEST(ToldDifferences, AlwaysIncludeFieldsThatDecideTheMeaningOfStepTimes) {
  const auto document = report_document({two_rows("deterministic", "true", "false")}, TableStyle::table);
  EXPECT_THAT(render_text(document, {.width = 0}), HasSubstr("deterministic"));
  const auto json = nlohmann::json::parse(render_json(document));
  EXPECT_EQ(json["rows"][0].value("deterministic", ""), "true");
  EXPECT_EQ(json["rows"][1].value("deterministic", ""), "false");
  EXPECT_THAT(render_text(report_document({two_rows("fp8_accumulation", "full", "fast")}, TableStyle::table), {}),
              HasSubstr("fp8_accumulation"));
}

TEST(ToldDifferences, LeaveOutFieldsThatAnotherColumnShows) {
  const auto document = report_document({two_rows("optimizer.eps", "1e-8", "0.25")}, TableStyle::table);
  EXPECT_THAT(render_text(document, {.width = 0}), Not(HasSubstr("optimizer.eps")));
}

}  // namespace
}  // namespace perfbench::reports
