// The document of a night: its cards, and the commands that a reader of an open alert needs next.
#include "reports/content/night_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reports/render/document/render.h"
#include "tests/harness/example_alert.h"

namespace perfbench::reports {
namespace {

using harness::AlertState;
using harness::CellState;
using testing::HasSubstr;
using testing::Not;

harness::NightReport night_with(const harness::Alert& alert) {
  harness::NightReport out{.matrix = "nightly", .started_utc = "2026-01-10T03:00:00Z"};
  out.cells = {{.cell = "model=a fsdp=2", .last_s = 0.03, .tonight_s = 0.0315, .state = CellState::regressed},
               {.cell = "model=b", .state = CellState::not_tested}};
  out.live_alerts = harness::group_by_range({alert});
  out.verdict = harness::Verdict::regressed;
  return out;
}

TEST(NightDocument, SaysWhatToDoAboutAnOpenAlert) {
  auto alert = harness::example_alert(harness::example_finding("model=a fsdp=2"), "aaaaaaaaaaaa");
  const auto& finding = alert.finding;
  ASSERT_NE(finding.last_good.revision, finding.first_bad.revision);
  const auto text = render_markdown(night_document(night_with(alert), "nights.db"));
  EXPECT_THAT(text, HasSubstr("perfbench bisect " + finding.last_good.revision + " " + finding.first_bad.revision +
                              " MATRIX_FILE --only model=a --only fsdp=2 --metric step_time_s --db nights.db"));
  EXPECT_THAT(text, HasSubstr("perfbench alerts ack aaaaaaaaaaaa --reason 'bisecting' --db nights.db"));
  alert.finding.series.metric = "words_per_s";
  EXPECT_THAT(render_markdown(night_document(night_with(alert), "nights.db")), Not(HasSubstr("bisect ")))
      << "bisect judges metrics of the catalog";
  alert.finding.series.metric = "step_time_s";
  alert.finding.first_bad.revision = alert.finding.last_good.revision;
  EXPECT_THAT(render_markdown(night_document(night_with(alert), "nights.db")),
              HasSubstr("perfbench show alert:aaaaaaaaaaaa"))
      << "one commit has nothing to bisect";
  alert.events.push_back({.from = AlertState::open, .to = AlertState::acknowledged});
  EXPECT_THAT(render_markdown(night_document(night_with(alert), "nights.db")), Not(HasSubstr("What to do")))
      << "somebody works on it";
}

TEST(NightDocument, QuotesNamesThatAShellWouldTakeApart) {
  auto alert = harness::example_alert(harness::example_finding("model=a;reboot"), "aaaaaaaaaaaa");
  alert.finding.first_bad.revision = "$(reboot)";
  const auto text = render_text(night_document(night_with(alert), "nights.db"), {.width = 0});
  EXPECT_THAT(text,
              HasSubstr(" '$(reboot)' MATRIX_FILE --only 'model=a;reboot' --metric step_time_s --db nights.db\n"));
}

// A comment on a pull request.
TEST(NightDocument, ItsTablesFitEightyColumnsOfMarkdownAndItsFindingsAreFolded) {
  const std::string long_reason(200, 'w');
  const std::string cell = "model=llama-mini attention=dot_product remat=minimal fsdp=2";
  harness::NightReport report{.matrix = "nightly", .started_utc = "2026-01-10T03:00:00Z"};
  report.cells = {
      {.cell = cell, .last_s = 0.03, .tonight_s = 0.0315, .state = CellState::not_measured, .why = long_reason},
      {.cell = "model=b", .state = CellState::same, .why = long_reason}};
  report.findings = {{.finding = harness::example_finding(cell), .why = long_reason}};
  report.live_alerts =
      harness::group_by_range({harness::example_alert(harness::example_finding(cell), "0123456789ab")});
  const auto text = render_markdown(night_document(report, "nights.db"));
  std::istringstream lines(text);
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) continue;
    ++rows;
    EXPECT_LE(line.size(), 80U) << line;
  }
  EXPECT_EQ(rows, 10U);
  EXPECT_THAT(text, HasSubstr("[1] " + long_reason)) << "the reason is a footnote";
  EXPECT_LT(text.find("| Cell"), text.find("<details>")) << "the states of the cells are not folded";
  EXPECT_THAT(render_json(night_document(report, "nights.db")), HasSubstr("\"why\": \"" + long_reason))
      << "programs have a column of reasons";
}

TEST(NightDocument, HasACardForEachStateAndTheAlerts) {
  const auto document = night_document(
      night_with(harness::example_alert(harness::example_finding("model=a fsdp=2"), "aaaaaaaaaaaa")), "nights.db");
  std::vector<std::string> cards;
  for (const auto& block : document.blocks) {
    const auto* found = std::get_if<Cards>(&block);
    if (found == nullptr) continue;
    for (const auto& card : found->cards) cards.push_back(card.title + ": " + card.value);
  }
  EXPECT_THAT(cards, testing::ElementsAre("REGRESSED: 1 of 2", "NOT TESTED: 1 of 2", "live alerts: 1"));
}

}  // namespace
}  // namespace perfbench::reports
