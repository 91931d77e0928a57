#include "harness/judge/alert_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/system/input_error.h"
#include "tests/harness/example_alert.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using S = AlertState;

Alert in_state(std::vector<AlertState> path) {
  auto alert = example_alert(example_finding(), "aaaaaaaaaaaa");
  for (const auto state : path) {
    alert.events.push_back(
        {.from = alert.state(), .to = state, .author = "ada", .reason = "r", .at_utc = "2026-01-12T12:00:00Z"});
  }
  return alert;
}

// The whole table, written a second time: 6 x 6, 'x' for an allowed change.
TEST(AlertTransition, IsAllowedWhereTheTableSaysAndNowhereElse) {
  const std::pair<S, const char*> table[] = {// from               open ack fixed wont env inv
                                             {S::open, ".xxxxx"},        {S::acknowledged, "x.xxxx"},
                                             {S::fixed, "......"},       {S::wont_fix, "x....."},
                                             {S::environment, "x....."}, {S::invalid, "x....."}};
  const S columns[] = {S::open, S::acknowledged, S::fixed, S::wont_fix, S::environment, S::invalid};
  for (const auto& [from, row] : table) {
    const auto alert = from == S::open ? in_state({}) : in_state({from});
    for (int i = 0; i < 6; ++i) {
      const auto where = std::string(spec::enum_name(from)) + " -> " + std::string(spec::enum_name(columns[i]));
      if (row[i] == 'x') {
        const auto event = transition(alert, columns[i], "eve", "because", "2026-01-20T00:00:00Z");
        EXPECT_EQ(event.from, from) << where;
        EXPECT_EQ(event.to, columns[i]) << where;
      } else {
        EXPECT_THROW(transition(alert, columns[i], "eve", "because", "2026-01-20T00:00:00Z"), InputError) << where;
      }
    }
  }
}

TEST(AlertTransition, ListsTheAllowedNextStates) {
  try {
    transition(in_state({S::wont_fix}), S::fixed, "eve", "r", "2026-01-20T00:00:00Z");
    FAIL() << "allowed";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("aaaaaaaaaaaa is wont_fix and cannot become fixed; allowed next states: open"));
  }
}

TEST(AlertTransition, NeedsAnAuthorAndAReason) {
  EXPECT_THROW(transition(in_state({}), S::fixed, "", "r", "2026-01-20T00:00:00Z"), InputError);
  EXPECT_THROW(transition(in_state({}), S::fixed, "eve", "", "2026-01-20T00:00:00Z"), InputError);
}

TEST(PlaceFinding, AnUnknownSeriesOpensAnAlert) {
  EXPECT_EQ(place_finding({}, example_finding()).meaning, FindingMeaning::opens);
  auto other_metric = example_finding();
  other_metric.series.metric = "startup_time_s";
  auto other_kind = example_finding();
  other_kind.kind = FindingKind::improvement;
  auto other_machine = example_finding();
  other_machine.series.machine = "m";
  for (const auto& finding : {example_finding("model=b"), other_metric, other_kind, other_machine}) {
    EXPECT_EQ(place_finding({in_state({})}, finding).meaning, FindingMeaning::opens);
  }
}

TEST(PlaceFinding, AFindingOfALiveAlertContinuesIt) {
  for (const auto& alert : {in_state({}), in_state({S::acknowledged})}) {
    const auto place = place_finding({alert}, example_finding());
    EXPECT_EQ(place.meaning, FindingMeaning::continues);
    EXPECT_EQ(place.alert_id, alert.alert_id);
  }
}

// Fixed on the 12th at noon: the night of the 12th was before it, the night of the 13th after it.
TEST(PlaceFinding, SeenAfterTheFixComesBackAndRefersToIt) {
  auto finding = example_finding();
  finding.seen_utc = example_night(12).started_utc;
  EXPECT_EQ(place_finding({in_state({S::fixed})}, finding).meaning, FindingMeaning::known);
  finding.seen_utc = example_night(13).started_utc;
  const auto place = place_finding({in_state({S::fixed})}, finding);
  EXPECT_EQ(place.meaning, FindingMeaning::comes_back);
  EXPECT_EQ(place.alert_id, "aaaaaaaaaaaa");
}

TEST(PlaceFinding, JudgedOnceStaysSilentUntilAnotherShift) {
  for (const auto state : {S::wont_fix, S::environment, S::invalid}) {
    auto same = example_finding("model=a", 11);  // the estimate of the first night has moved
    same.seen_utc = example_night(20).started_utc;
    EXPECT_EQ(place_finding({in_state({state})}, same).meaning, FindingMeaning::known);
    EXPECT_EQ(place_finding({in_state({state})}, example_finding("model=a", 14)).meaning, FindingMeaning::opens);
  }
}

TEST(PlaceFinding, AComparisonWithANightBeforeTheJudgedShiftFindsThatShift) {
  auto crept = example_finding("model=a", 20);
  crept.last_good = example_night(1);
  EXPECT_EQ(place_finding({in_state({S::wont_fix})}, crept).meaning, FindingMeaning::known);
}

Finding second_shift(int last_good) {
  auto out = example_finding("model=a", last_good + 1);
  out.ratio = 1.03;
  out.ratio_low = 1.02;
  out.ratio_high = 1.04;
  return out;
}

// Known since the 10th and not repaired: pairs of two engines that both have it find another 3 %.
TEST(PlaceFinding, ASecondShiftOfALiveAlertIsAnAlertOfItsOwn) {
  for (const auto& alert : {in_state({}), in_state({S::acknowledged}), in_state({S::wont_fix})}) {
    EXPECT_EQ(place_finding({alert}, second_shift(30)).meaning, FindingMeaning::opens);
    EXPECT_EQ(place_finding({alert}, second_shift(13)).meaning, FindingMeaning::opens);
  }
  EXPECT_EQ(place_finding({in_state({})}, second_shift(12)).meaning, FindingMeaning::continues)
      << "the first night of the known shift may be off by two days";
  EXPECT_EQ(place_finding({in_state({})}, second_shift(9)).meaning, FindingMeaning::continues);
}

// Pairs cannot show that a vanished cell, or a machine that changed, changed again.
TEST(PlaceFinding, AFindingWithoutPairsIsNotASecondShift) {
  for (const auto kind : {FindingKind::vanished_cell, FindingKind::environment}) {
    auto known = in_state({});
    known.finding.kind = kind;
    auto finding = second_shift(30);
    finding.kind = kind;
    EXPECT_EQ(place_finding({known}, finding).meaning, FindingMeaning::continues);
  }
}

TEST(KnownShifts, ComeFromAllAlertsThatNobodyCalledInvalid) {
  for (const auto state : {S::acknowledged, S::fixed, S::wont_fix, S::environment}) {
    EXPECT_THAT(known_shifts({in_state({state})}), SizeIs(1)) << spec::enum_name(state);
  }
  EXPECT_THAT(known_shifts({in_state({S::invalid})}), SizeIs(0));
  auto vanished = in_state({});
  vanished.finding.kind = FindingKind::vanished_cell;
  EXPECT_THAT(known_shifts({vanished}), SizeIs(0));
  const auto known = known_shifts({in_state({})});
  ASSERT_THAT(known, SizeIs(1));
  EXPECT_EQ(known[0].series, example_finding().series);
  EXPECT_EQ(known[0].first_utc, example_night(10).started_utc);
  EXPECT_EQ(known[0].told, "regression +5.0 %, alert aaaaaaaaaaaa open");
  EXPECT_TRUE(known[0].live);
  EXPECT_FALSE(known_shifts({in_state({S::fixed})})[0].live);
}

TEST(KnownShifts, AChangeOfTheMachineAppliesToAllSeriesOnceSomebodyJudgedIt) {
  for (const auto& [path, of_machine] : {std::pair{std::vector<S>{}, false}, {{S::acknowledged}, true}}) {
    auto alert = in_state(path);
    EXPECT_FALSE(known_shifts({alert})[0].of_machine) << "a regression is of its series";
    alert.finding.kind = FindingKind::environment;
    EXPECT_EQ(known_shifts({alert})[0].of_machine, of_machine);
  }
}

TEST(NewestImprovements, AreTheLastOnesThatBeganInEachCell) {
  const auto improvement = [](const std::string& cell, int first, std::vector<S> path = {}) {
    auto alert = in_state(std::move(path));
    alert.finding = example_finding(cell, first);
    alert.finding.kind = FindingKind::improvement;
    return alert;
  };
  auto elsewhere = improvement("model=a", 30);
  elsewhere.finding.series.matrix = "another";
  const auto found = newest_improvements(
      {improvement("model=a", 20), improvement("model=a", 10), improvement("model=b", 5, {S::fixed}),
       improvement("model=c", 9, {S::invalid}), elsewhere, in_state({})},
      "nightly");
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found.at({"model=a", "step_time_s"}).sweep_id, example_night(20).sweep_id);
  EXPECT_EQ(found.at({"model=b", "step_time_s"}).sweep_id, example_night(5).sweep_id);
}

TEST(VerdictsOfAlerts, AnOpenOneIsRedAndAnAcknowledgedOneUndecided) {
  EXPECT_THAT(verdicts_of(std::vector{in_state({})}), ElementsAre(Verdict::regressed));
  EXPECT_THAT(verdicts_of(std::vector{in_state({S::acknowledged})}), ElementsAre(Verdict::inconclusive));
  EXPECT_THAT(verdicts_of(std::vector{in_state({S::fixed}), in_state({S::invalid})}), SizeIs(0));
  auto improvement = in_state({});
  improvement.finding.kind = FindingKind::improvement;
  EXPECT_THAT(verdicts_of(std::vector{improvement}), SizeIs(0));
  auto machine = in_state({});
  machine.finding.kind = FindingKind::environment;
  EXPECT_THAT(verdicts_of(std::vector{machine}), ElementsAre(Verdict::inconclusive));
  auto vanished = in_state({});
  vanished.finding.kind = FindingKind::vanished_cell;
  EXPECT_THAT(verdicts_of(std::vector{vanished}), ElementsAre(Verdict::regressed));
}

// The known shift is +5 %, 0.0488 in logs. A shift surely beyond 0.0976, +10.25 %, is more than twice as large.
TEST(PlaceFinding, FarWorseThanTheKnownShiftOpensInAnyState) {
  auto worse = example_finding("model=a", 11);
  worse.ratio = 1.30;
  worse.ratio_low = 1.11;
  worse.ratio_high = 1.50;
  auto perhaps = worse;
  perhaps.ratio_low = 1.10;
  for (const auto& alert : {in_state({}), in_state({S::acknowledged}), in_state({S::wont_fix})}) {
    EXPECT_EQ(place_finding({alert}, worse).meaning, FindingMeaning::opens);
    EXPECT_NE(place_finding({alert}, perhaps).meaning, FindingMeaning::opens);
  }
  auto second = example_alert(worse, "bbbbbbbbbbbb");
  const auto place = place_finding({in_state({S::acknowledged}), second}, worse);
  EXPECT_EQ(place.meaning, FindingMeaning::continues) << "the next night";
  EXPECT_EQ(place.alert_id, "bbbbbbbbbbbb");
  auto unconfirmed = worse;
  unconfirmed.ratio_low = unconfirmed.ratio_high = std::nullopt;
  EXPECT_EQ(place_finding({in_state({})}, unconfirmed).meaning, FindingMeaning::opens) << "by its estimate";
  auto uncertain = worse;
  uncertain.ratio_low = 0.9;
  EXPECT_EQ(place_finding({in_state({})}, uncertain).meaning, FindingMeaning::continues);
  auto hardly = example_finding();
  hardly.ratio = 1.001;
  auto little = example_finding();
  little.ratio_low = 1.018;
  EXPECT_EQ(place_finding({example_alert(hardly, "cccccccccccc")}, little).meaning, FindingMeaning::continues)
      << "twice as much, and less than 2 % more";
}

TEST(PlaceFinding, AnotherShiftIsNotAbsorbedByALiveAlert) {
  auto wandered = example_finding("model=a", 11);
  wandered.seen_utc = example_night(20).started_utc;
  EXPECT_EQ(place_finding({in_state({S::acknowledged})}, wandered).meaning, FindingMeaning::continues);
  const auto later = example_finding("model=a", 14);
  EXPECT_EQ(place_finding({in_state({S::acknowledged})}, later).meaning, FindingMeaning::opens);
  EXPECT_EQ(place_finding({in_state({})}, later).meaning, FindingMeaning::opens);
}

TEST(PlaceFinding, TheNewestAlertOfTheSeriesCounts) {
  auto first = in_state({S::fixed});
  auto second = in_state({});
  second.alert_id = "bbbbbbbbbbbb";
  auto finding = example_finding();
  finding.seen_utc = example_night(20).started_utc;
  EXPECT_EQ(place_finding({first, second}, finding).alert_id, "bbbbbbbbbbbb");
}

TEST(GroupByRange, PutsEqualRangesTogetherAndTheEnvironmentApart) {
  auto small = example_finding("model=a");
  auto large = example_finding("model=b");
  large.ratio = 1.5;
  auto better = example_finding("model=c");
  better.kind = FindingKind::improvement;
  better.ratio = 0.2;
  auto machine = example_finding("model=d");
  machine.kind = FindingKind::environment;
  const auto earlier = example_finding("model=e", 5);
  const auto groups = group_by_range({example_alert(small, "a"), example_alert(better, "c"), example_alert(large, "b"),
                                      example_alert(machine, "d"), example_alert(earlier, "e")});
  ASSERT_THAT(groups, SizeIs(3));
  EXPECT_EQ(groups[0].bad_revision, "rev05");
  const auto ids = [](const AlertGroup& group) {
    std::vector<std::string> out;
    for (const auto& alert : group.alerts) out.push_back(alert.alert_id);
    return out;
  };
  EXPECT_THAT(ids(groups[1]), ElementsAre("b", "a", "c"));  // the improvement last, whatever its size
  EXPECT_FALSE(groups[1].environment);
  EXPECT_THAT(ids(groups[2]), ElementsAre("d"));
  EXPECT_TRUE(groups[2].environment);
}

}  // namespace
}  // namespace perfbench::harness
