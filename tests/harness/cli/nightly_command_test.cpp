// perfbench nightly as a CI job runs it: the built executable with a simulated engine of known speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "harness/execute/process.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {
namespace fs = std::filesystem;

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// `speed` multiplies the step time; `slow_speed` does so in a run with a fault that makes it slow. Without the latter
// the engine accepts no faults, like an engine for measurements.
void write_engine(const fs::path& file, const std::string& speed, const std::string& slow_speed = "") {
  write_text(file,
             "#!/bin/sh\nexport PERFBENCH_FAKE_SPEED=" + speed + "\n" +
                 (slow_speed.empty() ? "case \"$*\" in *--inject*) exit 3;; esac\n"
                                     : "case \"$*\" in *slow:*) PERFBENCH_FAKE_SPEED=" + slow_speed + ";; esac\n") +
                 "if [ \"$1\" = run ]; then exec " PERFBENCH_FAKE_ENGINE " run --dir \"$3\"; fi\n" +
                 "exec " PERFBENCH_FAKE_ENGINE " \"$@\"\n");
  fs::permissions(file, fs::perms::owner_all);
}

class NightlyCommand : public testing::Test {
 protected:
  NightlyCommand() {
    write_matrix("[flash, dot_product]");
    write_engine(scratch_ / "perfbench-engine", "1");
    write_engine(scratch_ / "perfbench-engine-inject", "1", "1.4");
  }

  void write_matrix(const std::string& attentions, const std::string& name = "nights") {
    write_text(scratch_ / "m.yaml", "name: \"" + name +
                                        "\"\n"
                                        "defaults: {model: llama-mini, seq_len: 32, global_batch: 2, steps: 6}\n"
                                        "axes:\n"
                                        "  attention: " +
                                        attentions + "\n");
  }

  ProcessEnd perfbench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    return run_process({.command = arguments,
                        .working_dir = scratch_.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR},
                                        {"PERFBENCH_ENGINE", (scratch_ / "perfbench-engine").string()}}});
  }
  // Other processes of the test machine must not spoil pairs with simulated times.
  ProcessEnd nightly(std::vector<std::string> more) {
    std::vector<std::string> arguments{
        "nightly", "m.yaml", "--db", "n.db", "--most-foreign", "1000", "--most-steal", "1000", "--most-probe-shift",
        "1000"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return perfbench(arguments);
  }

  // Creates a history of many nights at once, to continue from. perfbench itself would never take them for measured
  // ones.
  void take_demonstration_for_measured() {
    const std::string mark = "simulated-";
    const auto db = open_database(scratch_ / "n.db");
    Statement(db, "UPDATE sweeps SET kind = 'night', sweep_id = replace(sweep_id, '" + mark + "', '')").run();
    std::vector<fs::path> marked;
    for (const auto& entry : fs::recursive_directory_iterator(scratch_ / "n.engines")) {
      if (entry.path().filename().string().starts_with(mark)) marked.push_back(entry.path());
    }
    for (const auto& file : marked) {
      fs::rename(file, file.parent_path() / file.filename().string().substr(mark.size()));
    }
    // The demonstration's own night sorts before the simulated ones, and one night more than 60 is too many.
    const auto nights = scratch_ / "n.engines/nights";
    const auto engine = fs::directory_iterator(nights)->path();
    Statement own(db, "SELECT sweep_id FROM sweeps ORDER BY started_utc DESC LIMIT 1");
    if (own.step()) fs::copy_file(engine, nights / own.text(0), fs::copy_options::skip_existing);
  }

  // Since the control was chosen.
  void let_months_pass() {
    const auto db = open_database(scratch_ / "n.db");
    Statement(db, "UPDATE sweeps SET started_utc = '2026-01-01T01:00:00Z' WHERE kind = 'control'").run();
  }

  ScratchFolder scratch_;
};

TEST_F(NightlyCommand, FindsConfirmsAndAlertsAPlantedRegression) {
  const auto night = nightly({"--history-from", "simulated", "--junit", "n.xml", "--markdown", "n.md", "--github"});
  EXPECT_EQ(night.exit_code, 1) << night.output << night.error_output;
  EXPECT_THAT(night.output, HasSubstr("REGRESSED"));
  EXPECT_THAT(night.output, HasSubstr("previous nights are simulated"));
  EXPECT_THAT(night.output, HasSubstr("In this demonstration, time is simulated"));
  EXPECT_THAT(night.output, HasSubstr("Planted tonight: slow:span=matmul,fraction=1 in attention=flash"));
  EXPECT_THAT(night.output, HasSubstr("::error"));
  EXPECT_THAT(read_text(scratch_ / "n.xml"), HasSubstr("<failure"));
  EXPECT_THAT(read_text(scratch_ / "n.md"), HasSubstr("] regression, confirmed"));

  const auto db = open_database(scratch_ / "n.db", {.mode = OpenMode::read_only});
  const auto alerts = load_alerts(db, AlertScope::live);
  ASSERT_THAT(alerts, SizeIs(1));
  const auto& finding = alerts.front().finding;
  EXPECT_EQ(finding.series.cell, "attention=flash");
  EXPECT_EQ(finding.series.metric, "step_time_s");
  EXPECT_EQ(finding.kind, FindingKind::regression);
  ASSERT_TRUE(finding.ratio && finding.ratio_low && finding.ratio_high);
  // Every simulated time has at most 0.2 % of noise, so that no ratio of two differs from 1.4 by more than 0.4 %. The
  // interval need not include 1.4: a 95 % interval misses it once in twenty times.
  EXPECT_NEAR(*finding.ratio, 1.4, 1.4 * 0.0041);
  EXPECT_LT(*finding.ratio_low, *finding.ratio);
  EXPECT_GT(*finding.ratio_high, *finding.ratio);
  EXPECT_THAT(finding.last_good.sweep_id, testing::StartsWith("simulated-"));
  EXPECT_THAT(finding.confirmation, SizeIs(1));
  EXPECT_THAT(perfbench({"alerts", "list", "--db", "n.db"}).output, HasSubstr("| flash |"));

  const auto ledger = perfbench({"show", "alert:" + alerts.front().alert_id, "--db", "n.db"});
  EXPECT_EQ(ledger.exit_code, 0) << ledger.error_output;
  EXPECT_THAT(ledger.output, HasSubstr("(night), matrix nights"));
  EXPECT_THAT(ledger.output, ContainsRegex("step_time_s, nights: [0-9]+ nights from .* screened"));
  EXPECT_THAT(ledger.output, HasSubstr("step_time_s, look: screened: shifted by"));
  EXPECT_THAT(ledger.output, HasSubstr("answer: REGRESSED"));
  EXPECT_THAT(ledger.output, HasSubstr("verdict:" + finding.confirmation.front() + " (pairs)"));
  EXPECT_THAT(ledger.output, testing::Not(HasSubstr("attention=dot_product"))) << "of the alert's cell alone";
}

// A matrix without axes is one cell with an empty label.
TEST_F(NightlyCommand, PlantsInTheOneCellOfAMatrixWithoutAxes) {
  write_text(scratch_ / "m.yaml",
             "name: nights\ndefaults: {model: llama-mini, seq_len: 32, global_batch: 2, steps: 6}\n");
  const auto night = nightly({"--history-from", "simulated"});
  EXPECT_EQ(night.exit_code, 1) << night.output << night.error_output;
  EXPECT_THAT(night.output, HasSubstr("Planted tonight: slow:span=matmul,fraction=1 in (defaults)"));
  EXPECT_THAT(night.output, HasSubstr("REGRESSED"));
}

// Its times depend only on the engine's own work, so neither other processes nor a rule about them can leave it
// undecided.
TEST_F(NightlyCommand, ADemonstrationDiscardsNoPair) {
  const auto night = perfbench({"nightly", "m.yaml", "--db", "n.db", "--history-from", "simulated", "--most-foreign",
                                "0", "--most-steal", "0", "--most-probe-shift", "0", "--most-probe-spread", "0"});
  EXPECT_EQ(night.exit_code, 1) << night.output << night.error_output;
  EXPECT_THAT(night.error_output, Not(HasSubstr("discarded")));
  std::size_t attempts = 0;
  for (const auto& entry : fs::recursive_directory_iterator(scratch_ / "n.runs")) {
    if (entry.path().filename() != "attempt.json") continue;
    ++attempts;
    EXPECT_THAT(read_text(entry.path()), HasSubstr("work_clock")) << entry.path() << " does not say whose clock it has";
  }
  EXPECT_GT(attempts, 100U);
}

TEST_F(NightlyCommand, SimulatedAndMeasuredNightsNeedSeparateDatabases) {
  EXPECT_EQ(nightly({"--history-from", "simulated", "--no-confirm"}).exit_code, 2);
  const auto measured = nightly({});
  EXPECT_EQ(measured.exit_code, 3) << measured.output;
  EXPECT_THAT(measured.error_output, HasSubstr("n.db contains the simulated nights of a demonstration"));
  EXPECT_EQ(nightly({"--history-from", "simulated", "--no-confirm"}).exit_code, 2) << "one demonstration after another";
  fs::remove(scratch_ / "n.db");
  EXPECT_EQ(nightly({}).exit_code, 2);
  const auto made_up = nightly({"--history-from", "simulated"});
  EXPECT_EQ(made_up.exit_code, 3) << made_up.output;
  EXPECT_THAT(made_up.error_output, HasSubstr("n.db contains measured runs"));
}

TEST_F(NightlyCommand, WithoutPairsAShiftIsNoAlert) {
  const auto night = nightly({"--history-from", "simulated", "--no-confirm"});
  EXPECT_EQ(night.exit_code, 2) << night.output << night.error_output;
  EXPECT_THAT(night.output, HasSubstr("unconfirmed"));
  const auto db = open_database(scratch_ / "n.db", {.mode = OpenMode::read_only});
  EXPECT_THAT(load_alerts(db, AlertScope::all), SizeIs(0));
}

// Nothing is known before the first night, and the night says so: a job that loses its database every night must not be
// green.
TEST_F(NightlyCommand, TheFirstNightOfAStoreIsUndecidedAndSaysWhy) {
  const auto first = nightly({"--junit", "n.xml"});
  EXPECT_EQ(first.exit_code, 2) << first.output << first.error_output;
  EXPECT_THAT(first.output, HasSubstr(": NOT TESTED"));
  EXPECT_THAT(first.output,
              HasSubstr("2 runs measured; 0 series screened, 11 with too few nights yet; 2 of 2 cells not "
                        "tested."));
  EXPECT_THAT(first.output, HasSubstr("is the control from now on"));
  EXPECT_THAT(first.output, HasSubstr("This database has no earlier measurements of this matrix"));
  EXPECT_THAT(first.output, HasSubstr("its first night: there is no baseline for it"));
  EXPECT_THAT(first.output, HasSubstr("No cell was tested."));
  EXPECT_THAT(read_text(scratch_ / "n.xml"), HasSubstr("name=\"attention=flash\""));
  EXPECT_THAT(read_text(scratch_ / "n.xml"), HasSubstr("skipped=\"2\""));
  EXPECT_TRUE(fs::exists(scratch_ / "n.engines/control"));
}

// The machine may have become slow since: nothing in this night can tell.
TEST_F(NightlyCommand, ANightThatNothingJudgedIsNotCalledTheSame) {
  EXPECT_EQ(nightly({}).exit_code, 2);
  const auto second = nightly({"--junit", "n.xml", "--github"});
  EXPECT_EQ(second.exit_code, 2) << "by the same engine" << second.output << second.error_output;
  EXPECT_THAT(second.output, HasSubstr(": NOT TESTED"));
  EXPECT_THAT(second.output, Not(HasSubstr("SAME")));
  EXPECT_THAT(second.output, Not(HasSubstr("is the control from now on")));
  EXPECT_THAT(second.output, Not(HasSubstr("first night")));
  const std::string why = "the engine of the last good night is tonight's, bit for bit: the code did not change";
  const auto junit = read_text(scratch_ / "n.xml");
  for (const std::string cell : {"attention=flash", "attention=dot_product"}) {
    // The simulated engine takes 1 ms within 0.2 %.
    const auto value = cell.substr(cell.find('=') + 1);
    EXPECT_THAT(second.output,
                ContainsRegex("[|] " + value + " +[|] +[0-9.]+ ms +[|] +[+-]0[.][0-9]+ % [|] NOT TESTED [[]1[]] [|]"));
    EXPECT_THAT(second.output, HasSubstr("[1] " + why));
    EXPECT_THAT(second.output, HasSubstr("::warning title=nights%3A " + cell + "::NOT TESTED: "));
    EXPECT_THAT(junit, ContainsRegex("name=\"" + cell + "\">[^<]*<skipped message=\"NOT TESTED: " + why));
  }
}

// On a new machine, the pairs of the same night with the engine of the last good night decide.
TEST_F(NightlyCommand, ANightOnANewMachineIsComparedWithTheLastGoodEngine) {
  EXPECT_EQ(nightly({}).exit_code, 2);
  write_engine(scratch_ / "perfbench-engine", "1.001 PERFBENCH_FAKE_CPU=new");
  const auto same = nightly({});
  EXPECT_EQ(same.exit_code, 0) << same.output << same.error_output;
  EXPECT_THAT(same.output, HasSubstr("Tonight has another class of machine: cpu_model fake -> new"));
  EXPECT_THAT(same.output, HasSubstr("Nothing shifted.\n"));
  write_engine(scratch_ / "perfbench-engine", "1.4 PERFBENCH_FAKE_CPU=newest");
  for (const auto* night_of : {"the first", "the second, while the alerts are open"}) {
    const auto slower = nightly({});
    EXPECT_EQ(slower.exit_code, 1) << night_of << slower.output << slower.error_output;
    EXPECT_THAT(slower.output, HasSubstr("] regression, confirmed")) << night_of;
  }
  {
    const auto db = open_database(scratch_ / "n.db", {.mode = OpenMode::read_only});
    const auto alerts = load_alerts(db, AlertScope::live);
    ASSERT_THAT(alerts, SizeIs(2)) << "one a cell";
    EXPECT_EQ(alerts[0].finding.series.metric, "step_time_s");
    EXPECT_NEAR(*alerts[0].finding.ratio, 1.4 / 1.001, 1.4 * 0.0041);  // as above
    EXPECT_THAT(alerts[0].finding.detail, HasSubstr("too few nights on this class of machine"));
  }
  fs::remove_all(scratch_ / "n.engines/nights");
  write_engine(scratch_ / "perfbench-engine", "1 PERFBENCH_FAKE_CPU=newest");
  const auto unseen = nightly({"--ignore-alerts"});
  EXPECT_EQ(unseen.exit_code, 2) << unseen.output << unseen.error_output;
  EXPECT_THAT(unseen.output, HasSubstr("is not in the archive"));
}

// A regression that nobody repairs is not new after three weeks, but still red.
TEST_F(NightlyCommand, ALiveAlertIsInEveryNightUntilSomebodyClosesIt) {
  EXPECT_EQ(nightly({}).exit_code, 2);
  write_engine(scratch_ / "perfbench-engine", "1.4");
  EXPECT_EQ(nightly({}).exit_code, 1);
  write_engine(scratch_ / "perfbench-engine", "1.001");  // nothing tonight is worse than before the alerts
  const auto open = nightly({});
  EXPECT_EQ(open.exit_code, 1) << open.output << open.error_output;
  EXPECT_THAT(open.output, HasSubstr(": REGRESSED\n"));
  EXPECT_THAT(open.output, HasSubstr("Nothing new shifted.\n"));
  EXPECT_THAT(open.output, ContainsRegex("[|] REGRESSED [[]1[]] [|]"));
  EXPECT_THAT(open.output, ContainsRegex("[[]1[]] alert [0-9a-f]+ of step_time_s open since "));
  ASSERT_NE(open.output.find("2 alerts"), std::string::npos);
  EXPECT_LT(open.output.find("2 alerts"), open.output.find("| Cell ")) << "the first thing that is read";
  const auto tonight_alone = nightly({"--ignore-alerts"});
  EXPECT_EQ(tonight_alone.exit_code, 0) << tonight_alone.output << tonight_alone.error_output;
  EXPECT_THAT(tonight_alone.output, HasSubstr("2 alerts"));
  std::vector<std::string> ids;
  for (const auto& alert :
       load_alerts(open_database(scratch_ / "n.db", {.mode = OpenMode::read_only}), AlertScope::live)) {
    ids.push_back(alert.alert_id);
  }
  ASSERT_THAT(ids, SizeIs(2));
  for (const auto& id : ids) {
    const auto acknowledged =
        perfbench({"alerts", "ack", id, "--author", "ada", "--reason", "bisecting", "--db", "n.db"});
    ASSERT_EQ(acknowledged.exit_code, 0) << acknowledged.error_output;
  }
  EXPECT_EQ(nightly({}).exit_code, 2);
  for (const auto& id : ids) {
    const auto done =
        perfbench({"alerts", "close", id, "--as", "fixed", "--author", "ada", "--reason", "reverted", "--db", "n.db"});
    ASSERT_EQ(done.exit_code, 0) << done.error_output;
  }
  write_engine(scratch_ / "perfbench-engine",
               "1.002");  // another engine than last night's, because comparing equal engines would test nothing
  const auto closed = nightly({});
  EXPECT_EQ(closed.exit_code, 0) << closed.output << closed.error_output;
  EXPECT_THAT(closed.output, HasSubstr("Nothing shifted.\n"));
}

// The name of a container and an update of the kernel do not make another machine.
TEST_F(NightlyCommand, NightsOfOtherHostsAndKernelsFormOneSeries) {
  EXPECT_EQ(nightly({"--history-from", "simulated", "--no-confirm"}).exit_code, 2);
  take_demonstration_for_measured();
  write_engine(scratch_ / "perfbench-engine", "1.4 PERFBENCH_FAKE_HOST=another PERFBENCH_FAKE_KERNEL=6.99");
  const auto night = nightly({"--no-confirm"});
  EXPECT_EQ(night.exit_code, 2) << night.output << night.error_output;
  EXPECT_THAT(night.output,
              testing::AllOf(testing::ContainsRegex("step_time_s [|] +[+]"), HasSubstr("] regression, ")));
  EXPECT_THAT(night.output, HasSubstr("Tonight has other facts of one class of machine: hostname fake -> another; "
                                      "kernel  -> 6.99"));
}

// After an upgrade of a library, the engine of the last good night uses it, too, and is as slow.
TEST_F(NightlyCommand, ASlowdownByANewLibraryIsNotRefuted) {
  const auto version = (scratch_ / "version").string();
  const auto speed = (scratch_ / "speed").string();
  const auto upgrade = [&](const std::string& to, const std::string& speed_of) {
    write_text(version, to);
    write_text(speed, speed_of);
  };
  const std::string now = "$(cat '" + speed + "') PERFBENCH_FAKE_ONEDNN=$(cat '" + version + "')";
  upgrade("2.6", "1");
  write_engine(scratch_ / "perfbench-engine-inject", now, now);
  EXPECT_EQ(nightly({"--history-from", "simulated", "--no-confirm"}).exit_code, 0);
  take_demonstration_for_measured();
  upgrade("3.1", "1.4");
  for (const auto* engine : {"another one", "the very same"}) {
    write_engine(scratch_ / "perfbench-engine", now + (*engine == 'a' ? " # another build" : ""));
    if (*engine == 't')
      fs::copy_file(scratch_ / "perfbench-engine-inject", scratch_ / "perfbench-engine",
                    fs::copy_options::overwrite_existing);
    const auto night = nightly({});
    EXPECT_EQ(night.exit_code, 2) << engine << night.output << night.error_output;
    EXPECT_THAT(night.output, HasSubstr(", undecided: ")) << engine;
    EXPECT_THAT(night.output, HasSubstr("libraries.oneDNN 2.6 -> 3.1")) << engine;
  }
  upgrade("2.6", "1");
  EXPECT_EQ(nightly({}).exit_code, 0) << "as it was before";
}

// A kernel, a driver or a neighbour slows the cells, but neither the control nor the probe shows it. The engine is not
// the cause, and the night is not green.
TEST_F(NightlyCommand, ASlowdownOfEveryEngineIsNotGreen) {
  const auto speed = (scratch_ / "speed").string();
  write_text(speed, "1");
  const std::string now = "$(cat '" + speed + "')";
  write_engine(scratch_ / "perfbench-engine-inject", now, now);
  EXPECT_EQ(nightly({"--history-from", "simulated", "--no-confirm"}).exit_code, 0);
  take_demonstration_for_measured();
  write_text(speed, "1.4");
  fs::copy_file(scratch_ / "perfbench-engine-inject", scratch_ / "perfbench-engine",
                fs::copy_options::overwrite_existing);
  const auto night = nightly({"--no-control"});
  EXPECT_EQ(night.exit_code, 2) << night.output << night.error_output;
  EXPECT_THAT(night.output, HasSubstr("] environment, "));
  EXPECT_THAT(night.output, HasSubstr("the machine or something on it changed"));
}

TEST_F(NightlyCommand, ACellThatFailsEveryNightIsNamed) {
  write_engine(scratch_ / "perfbench-engine", "1 PERFBENCH_FAKE_BEHAVIOUR=12");
  for (int night = 1; night <= 2; ++night) {
    const auto end = nightly({"--no-control"});
    EXPECT_EQ(end.exit_code, 2) << end.output << end.error_output;
    EXPECT_THAT(end.output, HasSubstr("it did not run: diverged, the loss became infinite at step 1"));
  }
}

TEST_F(NightlyCommand, PairsTonightWithTheControlOnceAMonth) {
  EXPECT_EQ(nightly({}).exit_code, 2);
  write_engine(scratch_ / "perfbench-engine", "1.4");
  const auto early = nightly({"--no-confirm"});
  EXPECT_EQ(early.exit_code, 2) << early.output << early.error_output;
  EXPECT_THAT(early.output, HasSubstr("not confirmed: --no-confirm"));
  EXPECT_THAT(early.output, Not(HasSubstr("Monthly comparison")));
  let_months_pass();
  const auto due = nightly({});
  EXPECT_EQ(due.exit_code, 1) << due.output << due.error_output;
  EXPECT_THAT(due.output, HasSubstr("Monthly comparison with the control of 2026-01-01: 2 series are worse"));
  {
    const auto db = open_database(scratch_ / "n.db", {.mode = OpenMode::read_only});
    const auto alerts = load_alerts(db, AlertScope::live);
    ASSERT_THAT(alerts, SizeIs(2));
    EXPECT_EQ(alerts.front().finding.last_good.started_utc, "2026-01-01T01:00:00Z");
    EXPECT_NEAR(*alerts.front().finding.ratio, 1.4, 1.4 * 0.0041);  // as above
  }
  EXPECT_THAT(nightly({}).output, Not(HasSubstr("Compared with the control"))) << "a month has not passed";
}

// Twice as fast since the second night, and half of that lost again: compared with the control, that is still an
// improvement.
TEST_F(NightlyCommand, TheMonthlyPairsGoBackToTheNewestImprovement) {
  EXPECT_EQ(nightly({}).exit_code, 2);
  write_engine(scratch_ / "perfbench-engine", "0.5");
  EXPECT_EQ(nightly({}).exit_code, 0);
  {
    auto db = open_database(scratch_ / "n.db");
    Statement newest(db,
                     "SELECT sweep_id, started_utc FROM sweeps WHERE kind = 'night' ORDER BY sweep_key DESC LIMIT 1");
    ASSERT_TRUE(newest.step());
    const NightId improved{.sweep_id = newest.text(0), .started_utc = newest.text(1), .revision = {}};
    std::vector<Finding> findings;
    Statement cells(db, "SELECT label, run_id FROM cells JOIN runs USING (run_key) WHERE matrix = 'nights'");
    while (cells.step()) {
      Finding finding;
      finding.series = {"nights", cells.text(0), cells.text(1), "step_time_s", "any"};
      finding.kind = FindingKind::improvement;
      finding.ratio = 0.5;
      finding.first_bad = improved;
      finding.seen_utc = improved.started_utc;
      finding.detail = "twice as fast";
      findings.push_back(finding);
    }
    EXPECT_THAT(record_findings(db, findings, "a test", improved.started_utc), Not(SizeIs(0)));
  }
  let_months_pass();
  write_engine(scratch_ / "perfbench-engine", "0.75");
  const auto due = nightly({"--no-confirm"});
  EXPECT_THAT(due.output, Not(HasSubstr("Monthly comparison"))) << "without pairs there are none";
  const auto compared = nightly({});
  EXPECT_EQ(compared.exit_code, 1) << compared.output << compared.error_output;
  EXPECT_THAT(compared.output, ContainsRegex("Monthly comparison with the improved engine of [-0-9]+: "));
  EXPECT_THAT(compared.output, HasSubstr("step_time_s"));
}

TEST_F(NightlyCommand, AControlThatUnderstandsNoRunDoesNotLoseTheNight) {
  write_text(scratch_ / "old-engine", "#!/bin/sh\nexit 3\n");
  fs::permissions(scratch_ / "old-engine", fs::perms::owner_all);
  EXPECT_THAT(nightly({"--control", "old-engine"}).output, HasSubstr("The control did not run"));
  let_months_pass();
  const auto night = nightly({});
  EXPECT_EQ(night.exit_code, 2) << night.output << night.error_output;
  EXPECT_THAT(night.output, HasSubstr("Not compared with the control of 2026-01-01"));
  EXPECT_THAT(night.output, HasSubstr("2 runs measured"));
}

TEST_F(NightlyCommand, AControlThatCannotRunLeavesTheNightUndecided) {
  EXPECT_EQ(nightly({}).exit_code, 2);
  const auto control = scratch_ / "n.engines" / read_text(scratch_ / "n.engines/control");
  fs::permissions(control, fs::perms::owner_read);
  const auto night = nightly({"--junit", "n.xml"});
  EXPECT_EQ(night.exit_code, 2) << night.output << night.error_output;
  EXPECT_THAT(night.output, HasSubstr("INCONCLUSIVE"));
  EXPECT_THAT(night.output, HasSubstr("The control did not run: the archived engine " + control.string() +
                                      " cannot be executed: Permission denied"));
  EXPECT_THAT(read_text(scratch_ / "n.xml"), HasSubstr("cannot be executed"));
  EXPECT_THAT(nightly({"--no-control"}).output, HasSubstr(": NOT TESTED")) << "it was not needed";
  const auto mended = nightly({"--control", "perfbench-engine"});
  EXPECT_THAT(mended.output, HasSubstr(": NOT TESTED")) << mended.output << mended.error_output;
  EXPECT_THAT(mended.output, Not(HasSubstr("The control did not run")));
}

TEST_F(NightlyCommand, AControlThatCrashesIsNoRegression) {
  write_text(scratch_ / "fixed", "#!/bin/sh\n[ -e " + (scratch_ / "broken").string() + " ] && exit 3\nexec " +
                                     (scratch_ / "perfbench-engine").string() + " \"$@\"\n");
  fs::permissions(scratch_ / "fixed", fs::perms::owner_all);
  EXPECT_EQ(nightly({"--control", "fixed"}).exit_code, 2);
  write_text(scratch_ / "broken", "");
  const auto night = nightly({});
  EXPECT_EQ(night.exit_code, 2) << night.output << night.error_output;
  EXPECT_THAT(night.output,
              HasSubstr("The control did not run, so the drift of the machine is not subtracted: crashed"));
}

TEST_F(NightlyCommand, ALastGoodEngineThatCannotRunIsReported) {
  const auto interpreter = scratch_ / "sh";
  fs::create_symlink("/bin/sh", interpreter);
  const auto engine = read_text(scratch_ / "perfbench-engine-inject");
  write_text(scratch_ / "perfbench-engine-inject", "#!" + interpreter.string() + engine.substr(engine.find('\n')));
  EXPECT_EQ(nightly({"--history-from", "simulated", "--no-confirm"}).exit_code, 2);
  take_demonstration_for_measured();
  write_engine(scratch_ / "perfbench-engine", "1.4");
  for (const auto& entry : fs::directory_iterator(scratch_ / "n.engines")) {
    if (entry.is_regular_file()) fs::permissions(entry.path(), fs::perms::owner_read);
  }
  const auto night = nightly({});
  EXPECT_EQ(night.exit_code, 2) << night.output << night.error_output;
  EXPECT_THAT(night.output, HasSubstr("The engine of the last good night did not run: the archived engine"));

  for (const auto& entry : fs::directory_iterator(scratch_ / "n.engines")) {
    if (entry.is_regular_file()) fs::permissions(entry.path(), fs::perms::owner_all);
  }
  fs::remove(interpreter);
  const auto unstartable = nightly({});
  EXPECT_EQ(unstartable.exit_code, 2) << unstartable.output << unstartable.error_output;
  EXPECT_THAT(unstartable.output, HasSubstr("The engine of the last good night did not run: [launch] cannot start"));
}

TEST_F(NightlyCommand, ACellThatVanishesIsARegression) {
  EXPECT_EQ(nightly({"--no-control"}).exit_code, 2);
  const auto asked = nightly({"--no-control", "--only", "attention=flash"});
  EXPECT_EQ(asked.exit_code, 2) << asked.output << asked.error_output;
  EXPECT_THAT(asked.output, Not(HasSubstr("vanished"))) << "what was not asked for did not vanish";
  const auto seen = perfbench({"history", "--db", "n.db"});
  EXPECT_EQ(seen.exit_code, 0) << seen.output << seen.error_output;
  const auto sweep = perfbench({"sweep", "m.yaml", "--db", "n.db", "--only", "attention=flash"});
  EXPECT_EQ(sweep.exit_code, 0) << sweep.error_output;
  EXPECT_EQ(perfbench({"history", "--db", "n.db"}).exit_code, 0);
  EXPECT_THAT(nightly({"--no-control", "--only", "attention=*"}).output, Not(HasSubstr("vanished")));
  write_matrix("[flash]");
  const auto night = nightly({"--no-control"});
  EXPECT_EQ(night.exit_code, 1) << night.output << night.error_output;
  EXPECT_THAT(night.output, HasSubstr("vanished"));
  EXPECT_THAT(night.output, HasSubstr("not in the sweep"));
  const auto part = nightly({"--no-control", "--only", "attention=*"});
  EXPECT_EQ(part.exit_code, 1) << "a night of the same --only had it" << part.output << part.error_output;
}

// "tn" does not match "tn/x", [ ] is not a set of letters, and the sweep of the control says that it is one.
TEST_F(NightlyCommand, AMatrixMayHaveAnyName) {
  for (const auto* name : {"nights", "tiny [nightly]", "tn/x", "tn", "control", "c*"}) {
    write_matrix("[flash, dot_product]", name);
    const auto night = nightly({});
    EXPECT_EQ(night.exit_code, 2) << night.output << night.error_output;
    // Five metrics of two cells, and the time of the control.
    EXPECT_THAT(night.output, HasSubstr("2 runs measured; 0 series screened, 11 with too few nights yet"))
        << name << night.output;
  }
}

TEST_F(NightlyCommand, AFutureDateDoesNotHideLaterNights) {
  for (int night = 1; night <= 2; ++night) EXPECT_EQ(nightly({"--no-control"}).exit_code, 2);
  {
    const auto db = open_database(scratch_ / "n.db");
    Statement(db, "UPDATE sweeps SET started_utc = '2930-01-01T01:00:00Z' WHERE sweep_key = 2").run();
  }
  write_matrix("[flash]");
  const auto night = nightly({"--no-control"});
  EXPECT_EQ(night.exit_code, 1) << night.output << night.error_output;
  EXPECT_THAT(night.output, HasSubstr("vanished"));
  EXPECT_THAT(night.output, HasSubstr("is dated 2930-01-01T01:00:00Z, which is in the future"));
}

TEST_F(NightlyCommand, MeasurementsByHandAreNotNights) {
  EXPECT_EQ(nightly({"--no-control"}).exit_code, 2);
  write_matrix("[flash]");
  ASSERT_EQ(perfbench({"sweep", "m.yaml", "--db", "n.db"}).exit_code, 0);
  for (const auto& entry : fs::directory_iterator(scratch_ / "n.runs")) {
    ASSERT_EQ(perfbench({"reproduce", entry.path().string(), "--db", "n.db"}).exit_code, 0);
  }
  const auto seen = perfbench({"history", "--db", "n.db", "--format", "json"});
  EXPECT_EQ(seen.exit_code, 0) << "no cell vanished" << seen.output << seen.error_output;
  const auto db = open_database(scratch_ / "n.db", {.mode = OpenMode::read_only});
  Statement kinds(db, "SELECT group_concat(kind) FROM (SELECT kind FROM sweeps ORDER BY sweep_key)");
  ASSERT_TRUE(kinds.step());
  EXPECT_EQ(kinds.text(0), "night,hand,reproduction,reproduction");
}

// Otherwise an engine without the fault would be reported to reproduce the run, or not to.
TEST_F(NightlyCommand, AReproductionInjectsTheFaultsOfItsRun) {
  const std::string fault = "slow:span=matmul,fraction=1";
  const auto pairs = perfbench({"compare", "--ab", "current", "inject:" + fault, "m.yaml", "--db", "n.db", "--only",
                                "attention=flash", "--pairs", "2", "--pairing", "apart"});
  ASSERT_NE(pairs.exit_code, 3) << pairs.error_output;
  const auto words = [this](const std::string& query) {
    const auto db = open_database(scratch_ / "n.db", {.mode = OpenMode::read_only});
    Statement rows(db, query);
    return rows.step() ? rows.text(0) : std::string();
  };
  const auto run = words("SELECT run_id FROM v_runs WHERE inject <> ''");
  const auto repeated = perfbench({"reproduce", run + "@inject", "--db", "n.db"});
  EXPECT_EQ(repeated.exit_code, 0) << repeated.output << repeated.error_output;
  EXPECT_THAT(repeated.output, HasSubstr("injected   " + fault + ", into both\n"));
  EXPECT_EQ(words("SELECT inject FROM v_runs WHERE kind = 'reproduction'"), fault);
}

TEST_F(NightlyCommand, AnUnwritableOutputIsReportedBeforeAnythingRuns) {
  fs::create_symlink("loop", scratch_ / "loop");
  ASSERT_EQ(mkfifo((scratch_ / "pipe").c_str(), 0600), 0);  // a file renamed to this name would replace it
  const std::vector<std::pair<std::string, std::string>> unwritable{
      {"--junit", "none/n.xml"},      {"--junit", "/proc/n.xml"}, {"--junit", "pipe"},      {"--markdown", "."},
      {"--markdown", "m.yaml/n.md"},  {"--runs", "m.yaml/runs"},  {"--runs", "/proc/runs"}, {"--runs", "loop"},
      {"--engines", "/proc/engines"}, {"--control", "none"},      {"--control", "m.yaml"}};
  for (const auto& [option, file] : unwritable) {
    const auto night = nightly({option, file});
    EXPECT_EQ(night.exit_code, 3) << option << " " << file << night.output << night.error_output;
    EXPECT_THAT(night.error_output, testing::AnyOf(HasSubstr("[nightly] " + option + " " + file),
                                                   HasSubstr("[nightly] " + option + " '" + file + "'")));
  }
  EXPECT_EQ(perfbench({"nightly", "m.yaml", "--db", "/proc/n.db"}).exit_code, 3);
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(scratch_.path())) left.push_back(entry.path().filename());
  EXPECT_THAT(left,
              testing::UnorderedElementsAre("loop", "m.yaml", "pipe", "perfbench-engine", "perfbench-engine-inject"));
}

TEST_F(NightlyCommand, ACellThatDivergesTonightIsARegression) {
  EXPECT_EQ(nightly({"--no-control"}).exit_code, 2);
  write_engine(scratch_ / "perfbench-engine", "1 PERFBENCH_FAKE_BEHAVIOUR=12");
  const auto night = nightly({"--no-control"});
  EXPECT_EQ(night.exit_code, 1) << night.output << night.error_output;
  EXPECT_THAT(night.output, HasSubstr("0 runs measured, 2 failed"));
  EXPECT_THAT(night.output, HasSubstr("not measured tonight: diverged, the loss became infinite at step 1"));
}

TEST_F(NightlyCommand, WrongInputIsReportedBeforeAnythingRuns) {
  EXPECT_EQ(perfbench({"nightly", "none.yaml", "--db", "n.db"}).exit_code, 3);
  EXPECT_FALSE(fs::exists(scratch_ / "n.runs"));
  fs::remove(scratch_ / "perfbench-engine-inject");
  const auto unplanted = nightly({"--history-from", "simulated"});
  EXPECT_EQ(unplanted.exit_code, 3);
  EXPECT_THAT(unplanted.error_output, HasSubstr("perfbench-engine-inject"));
}

}  // namespace
}  // namespace perfbench::harness
