// perfbench alerts as a user runs it: the built executable, its output and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/execute/process.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/alert_outbox.h"
#include "tests/harness/example_alert.h"
#include "tests/harness/example_run.h"
#include "tests/harness/http_server.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::Not;

class AlertsCommand : public testing::Test {
 protected:
  ScratchFolder scratch_;
  std::string id_;

  void SetUp() override {
    auto db = open_database(scratch_ / "q.db");
    id_ = record_findings(db, {example_finding()}, "perfbench nightly", "2026-01-10T05:00:00Z").at(0).alert.alert_id;
  }

  ProcessEnd run(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {}) {
    environment["USER"] = "ada";
    arguments.insert(arguments.begin(), {std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "alerts"});
    arguments.insert(arguments.end(), {"--db", "q.db"});
    return run_process({.command = arguments, .working_dir = scratch_.path(), .environment = environment});
  }
};

TEST_F(AlertsCommand, ListsByCommitRangeInEveryFormat) {
  EXPECT_THAT(run({"list"}).output, HasSubstr("rev09..rev10"));
  EXPECT_THAT(run({"list", "--format", "junit"}).output, HasSubstr("<failure message=\"regression of step_time_s"));
  EXPECT_THAT(run({"list", "--format", "github"}).output, HasSubstr("::error title=nightly%3A model=a step_time_s::"));
  EXPECT_EQ(nlohmann::json::parse(run({"list", "--format", "json"}).output)["groups"][0]["alerts"][0]["alert_id"], id_);
}

TEST_F(AlertsCommand, GateExitsWithOneUntilSomebodyAcknowledges) {
  EXPECT_EQ(run({"list"}).exit_code, 0);
  EXPECT_EQ(run({"list", "--gate"}).exit_code, 1);
  const auto ack = run({"ack", id_.substr(0, 6), "--reason", "bisecting", "--author", "eve"});
  EXPECT_EQ(ack.exit_code, 0) << ack.error_output;
  EXPECT_THAT(ack.output, HasSubstr(id_ + " is acknowledged (by eve: bisecting)"));
  EXPECT_EQ(run({"list", "--gate"}).exit_code, 0);
}

TEST_F(AlertsCommand, GatePassesWithAnImprovement) {
  auto finding = example_finding();
  finding.kind = FindingKind::improvement;
  auto db = open_database(scratch_ / "q.db");
  record_findings(db, {finding}, "perfbench nightly", "2026-01-10T05:00:00Z");
  run({"close", id_, "--as", "invalid", "--reason", "r"});
  EXPECT_EQ(run({"list", "--gate"}).exit_code, 0);
}

TEST_F(AlertsCommand, CloseAndReopenAreShownWithTheirReasons) {
  EXPECT_EQ(run({"close", id_, "--as", "wont_fix", "--reason", "the price of safety"}).exit_code, 0);
  EXPECT_THAT(run({"list"}).output, HasSubstr("No alerts"));
  EXPECT_THAT(run({"list", "--state", "all"}).output, HasSubstr("wont_fix"));
  EXPECT_EQ(run({"reopen", id_, "--reason", "too high a price"}).exit_code, 0);
  const auto shown = run({"show", id_.substr(0, 4)}).output;
  EXPECT_THAT(shown, HasSubstr("the price of safety"));
  EXPECT_THAT(shown, HasSubstr("too high a price"));
}

TEST_F(AlertsCommand, WrongInputExitsWithThree) {
  struct Case {
    std::vector<std::string> arguments;
    const char* part;
  };
  for (const auto& [arguments, part] :
       {Case{{"show", "0000"}, "no alert whose id begins with 0000"}, Case{{"show", "xyz"}, "4 to 12 hex digits"},
        Case{{"ack", id_}, "--reason"}, Case{{"close", id_, "--reason", "r"}, "--as"},
        Case{{"close", id_, "--reason", "r", "--as", "open"}, "open"},
        Case{{"reopen", id_, "--reason", "r"}, "is open and cannot become open"}}) {
    const auto end = run(arguments);
    EXPECT_EQ(end.exit_code, 3) << part;
    EXPECT_THAT(end.error_output, HasSubstr(part));
  }
}

TEST_F(AlertsCommand, AnAlertThatCannotBeReadIsNamedAndNotListed) {
  auto other = example_finding();
  other.series.cell = "another";
  {
    auto db = open_database(scratch_ / "q.db");
    const auto second = record_findings(db, {other}, "perfbench nightly", "2026-01-11T05:00:00Z").at(0).alert.alert_id;
    ASSERT_NE(second, id_);
    db.execute("DELETE FROM alert_events WHERE at_utc = '2026-01-10T05:00:00Z'");
  }
  const auto end = run({"list"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.output, HasSubstr("another"));
  EXPECT_THAT(end.error_output, HasSubstr("the row of alerts with alert_id " + id_ + " cannot be read"));
  EXPECT_EQ(run({"list", "--gate"}).exit_code, 1) << "the other is bad all the same";
  EXPECT_EQ(run({"show", id_}).exit_code, 3);
}

TEST_F(AlertsCommand, DeliverSendsWaitingMessagesAndPrintsNoSecret) {
  {
    auto db = open_database(scratch_ / "q.db");
    queue_message(db, "m1", R"({"text":"slower"})", "2026-01-10T05:00:00Z");
  }
  const auto unset = run({"deliver"}, {{"PERFBENCH_WEBHOOK_URL", ""}});
  EXPECT_EQ(unset.exit_code, 3);
  EXPECT_THAT(unset.error_output, HasSubstr("PERFBENCH_WEBHOOK_URL"));
  HttpServer server({.status = 403}, {{.status = 200}});
  const std::map<std::string, std::string> hook{{"PERFBENCH_WEBHOOK_URL", server.url()},
                                                {"PERFBENCH_WEBHOOK_TOKEN", "xoxb-secret"}};
  const auto refused = run({"deliver"}, hook);
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.output, HasSubstr("0 messages delivered, 1 waiting (HTTP status 403, 1 tries), 0 given up"));
  EXPECT_THAT(refused.output + refused.error_output, Not(HasSubstr("secret")));
  const auto taken = run({"deliver"}, hook);
  EXPECT_EQ(taken.exit_code, 0);
  EXPECT_THAT(taken.output, HasSubstr("1 messages delivered, 0 waiting"));
  EXPECT_EQ(server.requests().back().body, R"({"text":"slower"})");
}

TEST_F(AlertsCommand, EachSubcommandHasHelpWithExamples) {
  for (const auto* name : {"list", "show", "ack", "close", "reopen", "deliver"}) {
    EXPECT_THAT(run({name, "--help"}).output, HasSubstr("Examples:")) << name;
  }
}

}  // namespace
}  // namespace perfbench::harness
