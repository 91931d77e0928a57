#include "harness/store/ledgers/alert_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/store/database.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_alert.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

struct Ledger {
  ScratchFolder scratch;
  Connection db = open_database(scratch / "a.db");
  std::vector<RecordedFinding> record(const std::vector<Finding>& findings,
                                      const std::string& now = "2026-01-10T05:00:00Z") {
    return record_findings(db, findings, "perfbench nightly", now);
  }
};

Finding full_finding() {
  auto out = example_finding();
  out.environment = {{"governor", "performance", "powersave"}, {"kernel", "6.1", "6.5"}};
  out.attribution = {{"gemm", 3.5e6, 0.7}, {"idle", 1.5e6, 0.3}};
  out.confirmation = {"20260110T030000Z-ab", "20260110T040000Z-ab"};
  return out;
}

TEST(AlertLedger, ReturnsRecordedAlerts) {
  Ledger ledger;
  const auto wanted = full_finding();
  ledger.record({wanted});
  const auto alerts = load_alerts(ledger.db, AlertScope::all);
  ASSERT_THAT(alerts, SizeIs(1));
  const auto& found = alerts[0].finding;
  EXPECT_EQ(found.series, wanted.series);
  EXPECT_EQ(found.kind, wanted.kind);
  EXPECT_EQ(found.ratio, wanted.ratio);
  EXPECT_EQ(found.ratio_low, wanted.ratio_low);
  EXPECT_EQ(found.ratio_high, wanted.ratio_high);
  EXPECT_EQ(found.last_good.revision, "rev09");
  EXPECT_EQ(found.last_good.sweep_id, wanted.last_good.sweep_id);
  EXPECT_EQ(found.first_bad.revision, "rev10");
  EXPECT_EQ(found.first_bad.started_utc, wanted.first_bad.started_utc);
  EXPECT_EQ(found.seen_utc, wanted.seen_utc);
  EXPECT_EQ(found.detail, wanted.detail);
  ASSERT_THAT(found.environment, SizeIs(2));
  EXPECT_EQ(found.environment[0].field, "governor");
  EXPECT_EQ(found.environment[0].left, "performance");
  EXPECT_EQ(found.environment[0].right, "powersave");
  ASSERT_THAT(found.attribution, SizeIs(2));
  EXPECT_EQ(found.attribution[0].name, "gemm");
  EXPECT_DOUBLE_EQ(found.attribution[1].ns, 1.5e6);
  EXPECT_DOUBLE_EQ(found.attribution[1].share, 0.3);
  EXPECT_EQ(found.confirmation, wanted.confirmation);
  EXPECT_EQ(alerts[0].state(), AlertState::open);
  ASSERT_THAT(alerts[0].events, SizeIs(1));
  EXPECT_EQ(alerts[0].events[0].author, "perfbench nightly");
  EXPECT_FALSE(alerts[0].events[0].from.has_value());
}

TEST(AlertLedger, AVanishedCellHasNoRatio) {
  Ledger ledger;
  auto finding = example_finding();
  finding.kind = FindingKind::vanished_cell;
  finding.ratio = finding.ratio_low = finding.ratio_high = std::nullopt;
  ledger.record({finding});
  EXPECT_FALSE(load_alerts(ledger.db, AlertScope::live).at(0).finding.ratio.has_value());
}

TEST(AlertLedger, TakesEveryKindAndState) {
  Ledger ledger;
  for (const auto& [kind, name] : spec::EnumNames<FindingKind>::kNames) {
    if (kind == FindingKind::noisier) continue;  // makes no alert
    auto finding = example_finding();
    finding.kind = kind;
    EXPECT_EQ(ledger.record({finding}).at(0).place.meaning, FindingMeaning::opens) << name;
  }
  for (const auto& [state, name] : spec::EnumNames<AlertState>::kNames) {
    if (state == AlertState::open) continue;
    const auto id = ledger.record({example_finding(std::string(name))}).at(0).alert.alert_id;
    EXPECT_EQ(change_alert(ledger.db, id, state, "ada", "r", "2026-01-11T00:00:00Z").state(), state);
  }
}

TEST(AlertLedger, TheSameFindingTwiceIsOneAlert) {
  Ledger ledger;
  const auto first = ledger.record({example_finding(), example_finding()});
  EXPECT_EQ(first[1].place.meaning, FindingMeaning::continues);
  EXPECT_EQ(first[1].alert.alert_id, first[0].alert.alert_id);
  ledger.record({example_finding()}, "2026-01-11T05:00:00Z");
  EXPECT_THAT(load_alerts(ledger.db, AlertScope::all), SizeIs(1));
}

// The largest finding gives the alert its numbers, in whatever order they come; the next night continues it with
// another cell.
TEST(AlertLedger, OneAlertSpeaksForAMachineThatChangedSpeed) {
  Ledger ledger;
  const auto of = [](const std::string& cell, double ratio, const std::string& machine) {
    auto finding = example_finding(cell);
    finding.kind = FindingKind::environment;
    finding.ratio = ratio;
    finding.ratio_low = finding.ratio_high = std::nullopt;
    finding.series.machine = machine;
    return finding;
  };
  const auto first = ledger.record({of("a", 1.05, "m"), of("b", 1.25, "m"), of("c", 1.1, "m"), of("a", 1.1, "n")});
  const auto alerts = load_alerts(ledger.db, AlertScope::all);
  ASSERT_EQ(alerts.size(), 2U);
  EXPECT_EQ(alerts[0].finding.series.cell, "b");
  EXPECT_EQ(alerts[1].finding.series.machine, "n");
  EXPECT_EQ(first.size(), 4U) << "all are accounted for";
  ledger.record({of("d", 1.07, "m")}, "2026-01-11T05:00:00Z");
  EXPECT_EQ(load_alerts(ledger.db, AlertScope::all).size(), 2U);
  ledger.record({of("d", 1.9, "m")}, "2026-01-12T05:00:00Z");
  EXPECT_EQ(load_alerts(ledger.db, AlertScope::all).size(), 3U) << "far more than what is known";
}

TEST(AlertLedger, AFixedAlertThatComesBackOpensANewOneThatRefersToIt) {
  Ledger ledger;
  const auto old = ledger.record({example_finding()}).at(0).alert.alert_id;
  change_alert(ledger.db, old, AlertState::fixed, "ada", "reverted", "2026-01-11T12:00:00Z");
  EXPECT_THAT(load_alerts(ledger.db, AlertScope::live), SizeIs(0));
  auto again = example_finding();
  again.seen_utc = "2026-01-12T02:00:00Z";
  const auto fresh = ledger.record({again}, "2026-01-12T05:00:00Z").at(0);
  EXPECT_EQ(fresh.place.meaning, FindingMeaning::comes_back);
  EXPECT_NE(fresh.alert.alert_id, old);
  const auto live = load_alerts(ledger.db, AlertScope::live);
  ASSERT_THAT(live, SizeIs(1));
  EXPECT_EQ(live[0].reopens, old);
}

TEST(AlertLedger, KeepsEveryChangeWithAuthorReasonAndTime) {
  Ledger ledger;
  const auto id = ledger.record({example_finding()}).at(0).alert.alert_id;
  change_alert(ledger.db, id.substr(0, 4), AlertState::acknowledged, "ada", "looking", "2026-01-10T09:00:00Z");
  change_alert(ledger.db, id, AlertState::wont_fix, "eve", "wanted", "2026-01-11T09:00:00Z");
  const auto alert = find_alert(ledger.db, id);
  ASSERT_THAT(alert.events, SizeIs(3));
  EXPECT_EQ(alert.events[1].author, "ada");
  EXPECT_EQ(alert.events[1].from, AlertState::open);
  EXPECT_EQ(alert.events[2].reason, "wanted");
  EXPECT_EQ(alert.events[2].at_utc, "2026-01-11T09:00:00Z");
  EXPECT_EQ(alert.state(), AlertState::wont_fix);
}

TEST(AlertLedger, ARefusedChangeLeavesNothing) {
  Ledger ledger;
  const auto id = ledger.record({example_finding()}).at(0).alert.alert_id;
  EXPECT_THROW(change_alert(ledger.db, id, AlertState::open, "ada", "r", "2026-01-10T09:00:00Z"), InputError);
  EXPECT_THAT(find_alert(ledger.db, id).events, SizeIs(1));
}

TEST(AlertLedger, AnUnknownOrAmbiguousIdIsReported) {
  Ledger ledger;
  const auto error_of = [&](const std::string& id) -> std::string {
    try {
      find_alert(ledger.db, id);
    } catch (const InputError& e) {
      return e.what();
    }
    return "found";
  };
  EXPECT_THAT(error_of("abcd"), HasSubstr("no alert whose id begins with abcd"));
  EXPECT_THAT(error_of("abc"), HasSubstr("first 4 to 12 hex digits"));
  EXPECT_THAT(error_of("#123"), HasSubstr("first 4 to 12 hex digits"));
  Statement insert(ledger.db,
                   "INSERT INTO alerts SELECT NULL, ?1, 'loss', '', '', '', '', '', 1, 1, 1, '', '', '', '', '', '', "
                   "'', '', ''");
  insert.run(std::string_view("abcd00000000"));
  insert.run(std::string_view("abcd11111111"));
  EXPECT_THAT(error_of("abcd"), HasSubstr("several alerts begin with abcd: abcd00000000 and abcd11111111"));
}

}  // namespace
}  // namespace perfbench::harness
