// The state of each cell in a night.
#include "harness/judge/night_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perfbench::harness {
namespace {

NightFinding found(const std::string& cell, FindingKind kind, Confirmation confirmation,
                   const std::string& matrix = "m") {
  NightFinding out{.confirmation = confirmation};
  out.finding.series = {.matrix = matrix, .cell = cell, .run_id = "r", .metric = "step_time_s", .machine = "x"};
  out.finding.kind = kind;
  return out;
}

TEST(NightCells, TheWorstFindingIsTheStateOfACellAndComesFirst) {
  const std::vector<NightCell> measured{{.cell = "screened", .screened_against = 20},
                                        {.cell = "paired"},
                                        {.cell = "slow", .metrics = 2, .screened_against = 20},
                                        {.cell = "faster", .screened_against = 20},
                                        {.cell = "refuted", .screened_against = 20},
                                        {.cell = "open", .screened_against = 20},
                                        {.cell = "untested", .metrics = 2},
                                        {.cell = "failed"},
                                        {.cell = "unclear", .metrics = 1}};
  using K = FindingKind;
  using C = Confirmation;
  const std::vector<NightFinding> findings{found("slow", K::improvement, C::confirmed),
                                           found("slow", K::memory, C::confirmed),
                                           found("faster", K::improvement, C::confirmed),
                                           found("refuted", K::regression, C::refuted),
                                           found("open", K::regression, C::unconfirmed),
                                           found("gone", K::vanished_cell, C::not_needed),
                                           found("slow", K::environment, C::not_needed, "control")};
  const std::vector<UnseenCell> unseen{{"untested", {"step_time_s", "final_loss"}, "its first night"},
                                       {"failed", {}, "it did not run"},
                                       {"unclear", {"step_time_s"}, "p = 0.02, above 0.01", true},
                                       {"slow", {"startup_time_s"}, "the pairs did not measure it"}};
  const auto cells = judge_cells("m", measured, findings, unseen);
  std::vector<std::string> words;
  for (const auto& cell : cells) words.push_back(cell.cell + " " + std::string(spec::enum_name(cell.state)));
  EXPECT_THAT(words,
              testing::ElementsAre("slow REGRESSED", "gone REGRESSED", "open INCONCLUSIVE", "unclear INCONCLUSIVE",
                                   "control INCONCLUSIVE", "failed NOT MEASURED", "untested NOT TESTED",
                                   "faster IMPROVED", "screened SAME", "paired SAME", "refuted SAME"));
  EXPECT_EQ(cells[0].why,
            "step_time_s improvement confirmed; step_time_s memory confirmed; "
            "startup_time_s: the pairs did not measure it");
  EXPECT_EQ(cells[5].why, "it did not run");
  EXPECT_EQ(cells[6].why, "its first night");
  EXPECT_EQ(cells[8].why, "screened with 20 previous nights");
  EXPECT_EQ(cells[9].why, "pairs with its last good night do not show it to be worse");
  EXPECT_EQ(count_in_state(cells, CellState::same), 3U);
}

Alert live_alert(const std::string& cell, AlertState state, FindingKind kind = FindingKind::regression) {
  Alert out{.alert_id = "1a2b3c4d5e6f", .finding = found(cell, kind, Confirmation::confirmed).finding};
  out.finding.first_bad.started_utc = "2026-01-10T02:00:00Z";
  out.events.push_back({.from = {}, .to = state, .author = "a", .reason = "r", .at_utc = "2026-01-10T03:00:00Z"});
  return out;
}

TEST(NightCells, AnAlertStaysInTheStateOfItsCellUntilSomebodyClosesIt) {
  const std::vector<NightCell> measured{{.cell = "red", .screened_against = 20},
                                        {.cell = "somebody looks", .screened_against = 20},
                                        {.cell = "faster", .screened_against = 20}};
  const auto cells = judge_cells("m", measured, {}, {},
                                 {live_alert("red", AlertState::open), live_alert("gone", AlertState::open),
                                  live_alert("somebody looks", AlertState::acknowledged),
                                  live_alert("faster", AlertState::open, FindingKind::improvement)});
  std::vector<std::string> words;
  for (const auto& cell : cells) words.push_back(cell.cell + " " + std::string(spec::enum_name(cell.state)));
  EXPECT_THAT(words,
              testing::ElementsAre("red REGRESSED", "gone REGRESSED", "somebody looks INCONCLUSIVE", "faster SAME"));
  EXPECT_EQ(cells[0].why, "alert 1a2b3c of step_time_s open since 2026-01-10");
  EXPECT_EQ(cells[2].why, "alert 1a2b3c of step_time_s acknowledged since 2026-01-10");
}

}  // namespace
}  // namespace perfbench::harness
