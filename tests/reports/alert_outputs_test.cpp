#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "harness/execute/process.h"
#include "reports/content/alert_document.h"
#include "reports/content/badge.h"
#include "reports/content/checks.h"
#include "reports/content/webhook_body.h"
#include "reports/render/document/render.h"
#include "tests/harness/example_alert.h"
#include "tests/harness/example_run.h"
#include "tests/reports/golden_file.h"

namespace perfbench::reports {
namespace {

using harness::Alert;
using harness::AlertState;
using harness::FindingKind;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

// Two commit ranges: one with a regression that came back and a vanished cell, one with a change of the environment.
std::vector<Alert> examples() {
  auto slower = harness::example_finding("model=a|b fsdp=2");
  slower.attribution = {{"gemm", 3.5e6, 0.7}, {"all_reduce dp", 1e6, 0.2}, {"idle", 4e5, 0.08}, {"copy", 1e5, 0.02}};
  slower.environment = {{"kernel", "6.1", "6.5"}};
  slower.confirmation = {"20260110T030000Z-ab"};
  auto first = harness::example_alert(slower, "aaaaaaaaaaaa");
  first.reopens = "999999999999";
  first.events.push_back({.from = AlertState::open,
                          .to = AlertState::acknowledged,
                          .author = "ada",
                          .reason = "bisecting",
                          .at_utc = "2026-01-10T09:00:00Z"});
  auto gone = harness::example_finding("model=c");
  gone.kind = FindingKind::vanished_cell;
  gone.ratio = gone.ratio_low = gone.ratio_high = std::nullopt;
  gone.detail = "not in tonight's sweep; crashed: signal 11";
  auto machine = harness::example_finding("model=d", 12);
  machine.kind = FindingKind::environment;
  return {first, harness::example_alert(gone, "bbbbbbbbbbbb"), harness::example_alert(machine, "cccccccccccc")};
}

TEST(AlertMarkdown, MatchesTheGoldenFile) {
  expect_golden("alerts.md", render_markdown(alerts_document(group_by_range(examples()))));
  expect_golden("alert.md", render_markdown(alert_document(examples()[0])));
  EXPECT_EQ(render_markdown(alerts_document({})), "## No alerts\n");
}

TEST(AlertJson, HasEveryFieldOfAnAlert) {
  expect_golden("alerts.json", render_json(alerts_document(group_by_range(examples()))));
  const auto alert = Json::parse(render_json(alerts_document(group_by_range(examples()))))["groups"][0]["alerts"][0];
  EXPECT_DOUBLE_EQ(alert["ratio"], 1.05);
  EXPECT_EQ(alert["attribution"].size(), 4U);
  EXPECT_EQ(alert["events"][1]["author"], "ada");
}

TEST(AlertCsv, HasALineForEachAlertOfAnyRange) {
  const auto csv = render_csv(alerts_document(group_by_range(examples())));
  EXPECT_THAT(csv, testing::StartsWith("alert_id,state,kind,matrix,cell,metric,ratio,confirmation,ratio_low,"));
  EXPECT_THAT(csv, HasSubstr("\r\nbbbbbbbbbbbb,open,vanished,nightly,model=c,step_time_s,,,,,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
}

TEST(CheckOfAlert, FailsWhileABadAlertIsLive) {
  auto alert = examples()[0];
  EXPECT_EQ(check_of(alert).outcome, CheckOutcome::failed);
  alert.events.back().to = AlertState::wont_fix;
  EXPECT_EQ(check_of(alert).outcome, CheckOutcome::passed);
  alert.events.back().to = AlertState::open;
  alert.finding.kind = FindingKind::improvement;
  EXPECT_EQ(check_of(alert).outcome, CheckOutcome::passed);
}

TEST(Badge, CountsAlertsByStateAndShowsTheLargestChange) {
  auto alerts = examples();
  alerts[0].finding.ratio = 1.4;
  const auto open = badge_of(alerts, "2026-01-11T03:00:00Z");
  EXPECT_EQ(open.text, "2 open alerts, worst +5.0 %") << "the acknowledged one is larger, and known";
  EXPECT_EQ(open.tone, Tone::bad);
  alerts.resize(1);
  EXPECT_EQ(badge_of(alerts, {}).text, "1 acknowledged alert, worst +40.0 %");
  EXPECT_EQ(badge_of(alerts, {}).tone, Tone::doubtful);
  alerts[0].finding.kind = FindingKind::improvement;
  EXPECT_EQ(badge_of(alerts, "2026-01-11T03:00:00Z").text, "no open alert, night of 2026-01-11");
  EXPECT_EQ(badge_of(alerts, {}).text, "no night") << "without nights, no alert means nothing";
}

TEST(Badge, IsWellFormedForAnyText) {
  pugi::xml_document parsed;
  ASSERT_TRUE(parsed.load_string(badge_svg({.text = "<a> & \"b\"\x1b", .tone = Tone::bad}).c_str()));
  EXPECT_STREQ(parsed.child("svg").attribute("aria-label").value(), "perfbench: <a> & \"b\"\\x1b");
}

std::vector<Check> nasty_checks() {
  return {{"nightly", "a <b> & \"c\"", CheckOutcome::failed, "line\nbreak]]>", "x\x01y\xff \xe2\x82 \xc3\xa9 \x1b[31m"},
          {"other", "fine", CheckOutcome::passed, "", ""},
          {"nightly", "who knows", CheckOutcome::undecided, "needs 16 pairs", ""},
          {"nightly", "better", CheckOutcome::passed, "-5 %", "unused"}};
}

TEST(Junit, IsWellFormedForAnyText) {
  const auto xml = to_junit(nasty_checks());
  harness::ScratchFolder scratch;
  harness::write_text(scratch / "a.xml", xml);
  // Expat refuses text that XML 1.0 does not allow; pugixml would not.
  const auto parsed = harness::run_process({.command = {"python3", "-c",
                                                        "import sys, xml.etree.ElementTree as e\n"
                                                        "r = e.parse(sys.argv[1]).getroot()\n"
                                                        "print([c.get('name') for c in r.iter('testcase')])\n"
                                                        "print(ascii(r.find('.//failure').text))",
                                                        (scratch / "a.xml").string()}});
  EXPECT_EQ(parsed.exit_code, 0) << parsed.error_output << xml;
  EXPECT_THAT(parsed.output, HasSubstr("'a <b> & \"c\"', 'who knows', 'better', 'fine'"));
  EXPECT_THAT(parsed.output, HasSubstr(R"(x\\x01y\ufffd \ufffd\ufffd \xe9 \\x1b[31m)"));
}

TEST(Junit, CountsEachSuiteAndAllOfThem) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(to_junit(nasty_checks()).c_str()));
  const auto root = document.child("testsuites");
  EXPECT_EQ(root.attribute("tests").as_int(), 4);
  EXPECT_EQ(root.attribute("failures").as_int(), 1);
  EXPECT_EQ(root.attribute("skipped").as_int(), 1);
  const auto nightly = root.find_child_by_attribute("testsuite", "name", "nightly");
  EXPECT_EQ(nightly.attribute("tests").as_int(), 3);
  const auto other = root.find_child_by_attribute("testsuite", "name", "other");
  EXPECT_EQ(other.attribute("tests").as_int(), 1);
  EXPECT_EQ(other.attribute("failures").as_int(), 0);
  const auto failed = nightly.find_child_by_attribute("testcase", "name", "a <b> & \"c\"");
  EXPECT_STREQ(failed.child("failure").attribute("message").as_string(), "line break]]>");
  EXPECT_TRUE(nightly.find_child_by_attribute("testcase", "name", "who knows").child("skipped"));
  const auto better = nightly.find_child_by_attribute("testcase", "name", "better");
  EXPECT_FALSE(better.child("failure"));
  EXPECT_STREQ(better.child("system-out").text().as_string(), "-5 %");
}

TEST(GithubAnnotations, CannotBeEndedByTheirText) {
  const auto text = github_annotations({{"m:1,x", "100%", CheckOutcome::failed, "slow\r\n::error::forged 5%", ""},
                                        {"m", "b", CheckOutcome::undecided, "a: b, c", ""},
                                        {"m", "c", CheckOutcome::passed, "better", ""},
                                        {"m", "d", CheckOutcome::passed, "", ""}});
  EXPECT_EQ(text,
            "::error title=m%3A1%2Cx%3A 100%25::slow  ::error::forged 5%25\n"
            "::warning title=m%3A b::a: b, c\n"
            "::notice title=m%3A c::better\n");
}

TEST(WebhookBody, IsTextAndBlocksThatSlackAccepts) {
  const auto group = group_by_range(examples())[0];
  const auto body = Json::parse(webhook_body(group));
  EXPECT_EQ(body.size(), 2U);
  EXPECT_EQ(body["blocks"][0]["text"]["text"], "perfbench: 2 worse, 0 better, commits rev09..rev10");
  ASSERT_EQ(body["blocks"].size(), 3U);
  const std::string first = body["blocks"][1]["text"]["text"];
  EXPECT_THAT(first, HasSubstr("+5.0 % (95 %: +3.0 % to +7.0 %)"));
  EXPECT_THAT(first, HasSubstr("gemm +3.50 ms (70.0 %), all_reduce dp +1.00 ms (20.0 %), idle +400 us (8.0 %)"));
  EXPECT_THAT(first, Not(HasSubstr("copy")));  // the three largest
  EXPECT_THAT(first, HasSubstr("kernel 6.1 -&gt; 6.5"));
  EXPECT_THAT(first, HasSubstr("perfbench alerts show aaaaaaaaaaaa"));
  EXPECT_THAT(std::string(body["text"]), HasSubstr("vanished cell: nightly, model=c"));
}

TEST(WebhookBody, StaysWithinSlacksLimits) {
  auto alert = examples()[0];
  for (int i = 0; i < 2000; ++i) alert.finding.series.cell += i % 2 ? "<" : "\xc3\xa9";
  harness::AlertGroup group{.good_revision = "a", .bad_revision = "b", .alerts = {}};
  for (int i = 0; i < 60; ++i) group.alerts.push_back(alert);
  const auto body = Json::parse(webhook_body(group));
  EXPECT_LE(body["blocks"].size(), 50U);
  for (const auto& block : body["blocks"]) {
    const std::string text = block["text"]["text"];
    EXPECT_LE(text.size(), 3000U);
    EXPECT_THAT(text, Not(HasSubstr("\xef\xbf\xbd")));  // no character was cut
  }
  const std::string cut = body["blocks"][1]["text"]["text"];
  const auto entity = cut.rfind('&');
  EXPECT_EQ(cut.substr(entity, 4), "&lt;");
  EXPECT_THAT(std::string(body["blocks"].back()["text"]["text"]), HasSubstr("and 20 more"));
}

}  // namespace
}  // namespace perfbench::reports
