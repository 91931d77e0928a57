// Each way in which an engine can fail ends its cell in the state of that name, and the sweep continues with the next
// cell.
#include <map>
#include <nlohmann/json.hpp>

#include "harness/execute/launcher.h"
#include "tests/harness/faults/fault_fixture.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using Fake = perfbench::fake::FakeBehaviour;

std::map<std::int64_t, StoredAttempt> by_seed(const std::vector<StoredAttempt>& attempts) {
  std::map<std::int64_t, StoredAttempt> out;
  for (const auto& attempt : attempts) out.emplace(attempt.run->seed, attempt);
  return out;
}

std::int64_t seed(Fake behaviour) {
  return static_cast<std::int64_t>(behaviour);
}

TEST_F(Faults, EveryMisdeedEndsInItsStateAndTheSweepGoesOn) {
  write_matrix({seed(Fake::segfault), seed(Fake::killed), seed(Fake::out_of_memory), seed(Fake::infeasible),
                seed(Fake::failed), seed(Fake::no_result), seed(Fake::first_ok)});
  const auto end = sweep();
  EXPECT_EQ(end.exit_code, 4) << end.error_output;
  const auto found = by_seed(stored());
  ASSERT_EQ(found.size(), 7U);
  EXPECT_EQ(found.at(seed(Fake::segfault)).state, AttemptState::crashed);
  EXPECT_THAT(found.at(seed(Fake::segfault)).reason, HasSubstr("11"));
  EXPECT_EQ(found.at(seed(Fake::killed)).state, AttemptState::crashed);
  EXPECT_EQ(found.at(seed(Fake::out_of_memory)).state, AttemptState::out_of_memory);
  EXPECT_THAT(found.at(seed(Fake::out_of_memory)).reason, HasSubstr("layers.0.mlpwi_0"));
  EXPECT_EQ(found.at(seed(Fake::infeasible)).state, AttemptState::infeasible);
  EXPECT_EQ(found.at(seed(Fake::failed)).state, AttemptState::crashed);
  EXPECT_EQ(found.at(seed(Fake::no_result)).state, AttemptState::crashed);
  EXPECT_EQ(found.at(seed(Fake::first_ok)).state, AttemptState::ok);
}

TEST_F(Faults, ARunThatDivergesIsReportedByTheTableTheExitCodeAndEveryFormat) {
  write_matrix({seed(Fake::diverge), seed(Fake::large_gradient), seed(Fake::first_ok)});
  const auto end = sweep();
  EXPECT_EQ(end.exit_code, 4) << end.error_output;
  const std::string lost = "the loss became infinite at step 1; the gradient norm became NaN at step 1";
  EXPECT_THAT(end.error_output, HasSubstr("diverged"));
  EXPECT_THAT(end.output, HasSubstr("diverged: " + lost));
  EXPECT_THAT(end.output, HasSubstr("2 ok, 1 diverged"));
  const auto report = [&](const std::string& format) {
    return run_process(request({"report", "--db", "f.db", "--format", format})).output;
  };
  EXPECT_THAT(report("markdown"), HasSubstr("] diverged: " + lost)) << "a footnote";
  EXPECT_THAT(report("markdown"), HasSubstr("] the gradient norm became infinite at step 1"));
  EXPECT_THAT(report("csv"), HasSubstr(lost));
  const auto rows = nlohmann::json::parse(report("json"))["rows"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["state"], "diverged");
  EXPECT_EQ(rows[0]["reason"], lost);
  EXPECT_TRUE(rows[0]["step_time_s"].is_null()) << "of a run that failed no speed is shown";
  EXPECT_EQ(rows[1]["state"], "ok");
  EXPECT_EQ(rows[1]["reason"], "the gradient norm became infinite at step 1");
}

TEST_F(Faults, AGateIsRedIfARunDivergesThatUsedToBeFine) {
  write_matrix({seed(Fake::first_ok)});
  ASSERT_EQ(sweep().exit_code, 0);
  ASSERT_EQ(
      run_process(request({"baseline", "set", "main", "--db", "f.db", "--reason", "r", "--author", "a"})).exit_code, 0);
  auto diverging = sweep_request();
  diverging.environment["PERFBENCH_FAKE_BEHAVIOUR"] = std::to_string(seed(Fake::diverge));
  EXPECT_EQ(run_process(diverging).exit_code, 4);
  for (const auto* metric : {"gate", "step_time_s", "final_loss"}) {
    const auto gate = run_process(request({"compare", "--db", "f.db", "--baseline", "main", "--metric", metric}));
    EXPECT_EQ(gate.exit_code, 1) << gate.output << gate.error_output;
    EXPECT_THAT(gate.output, HasSubstr("REGRESSED"));
    EXPECT_THAT(gate.output, HasSubstr("diverged: the loss became infinite at step 1"));
  }
  EXPECT_THAT(run_process(request({"report", "--db", "f.db", "--baseline", "main"})).output, HasSubstr("REGRESSED"));
  EXPECT_EQ(sweep().exit_code, 0) << "an engine that is mended again";
  EXPECT_NE(run_process(request({"compare", "--db", "f.db", "--baseline", "main", "--metric", "gate"})).exit_code, 1);
}

TEST_F(Faults, AHangingEngineTimesOut) {
  write_matrix({seed(Fake::hang), seed(Fake::first_ok)});
  const auto end = sweep({"--timeout", "0.5"});
  EXPECT_EQ(end.exit_code, 4);
  const auto found = by_seed(stored());
  EXPECT_EQ(found.at(seed(Fake::hang)).state, AttemptState::timed_out);
  // The result of the cell after it depends on the speed of this machine.
  EXPECT_TRUE(found.contains(seed(Fake::first_ok)));
}

TEST_F(Faults, AnEngineThatGrowsHitsTheMemoryLimit) {
  write_matrix({seed(Fake::grow), seed(Fake::first_ok)});
  const auto end = sweep({"--memory-limit", "0.25"});
  EXPECT_EQ(end.exit_code, 4);
  const auto found = by_seed(stored());
  EXPECT_EQ(found.at(seed(Fake::grow)).state, AttemptState::out_of_memory);
  EXPECT_EQ(found.at(seed(Fake::first_ok)).state, AttemptState::ok);
}

TEST_F(Faults, FailFastStopsAtTheFirstFailure) {
  write_matrix({seed(Fake::segfault), seed(Fake::first_ok)});
  EXPECT_EQ(sweep({"--fail-fast"}).exit_code, 4);
  EXPECT_EQ(stored().size(), 1U);
}

TEST_F(Faults, OneRankOfTwoThatDiesEndsItsCell) {
  if (!find_mpirun()) GTEST_SKIP() << "no mpirun in PATH";
  write_matrix({seed(Fake::killed), seed(Fake::first_ok)}, "  fsdp: 2\n");
  const auto end = sweep();
  EXPECT_EQ(end.exit_code, 4) << end.error_output;
  const auto found = by_seed(stored());
  EXPECT_EQ(found.at(seed(Fake::killed)).state, AttemptState::crashed);
  EXPECT_EQ(found.at(seed(Fake::first_ok)).state, AttemptState::ok);
}

// The rank that hangs interrupts the sweep, as a user would who sees no progress.
TEST_F(Faults, OneRankOfTwoThatHangsIsEndedWithItsCell) {
  if (!find_mpirun()) GTEST_SKIP() << "no mpirun in PATH";
  write_matrix({seed(Fake::hang)}, "  fsdp: 2\n");
  const auto end = run_process(interrupted_by_its_engine(sweep_request()));
  EXPECT_EQ(end.exit_code, 4) << end.error_output;
  EXPECT_EQ(by_seed(stored()).at(seed(Fake::hang)).state, AttemptState::cancelled);
}

// The attempt is recorded and the next cell runs, whatever an engine does to its folder.
TEST_F(Faults, AnEngineThatRemovesOrReplacesItsFolderHasCrashed) {
  write_matrix({seed(Fake::ok), seed(Fake::first_ok)});
  const std::vector<std::pair<std::string, std::string>> deeds{
      {"rm -rf \"$3\"", "removed"},
      {"rm -rf \"$(dirname \"$3\")\"", "removed"},
      {"rm -rf \"$3\"; echo x >\"$3\"", "replaced"},
      {"rm -rf \"$3\"; ln -s " + scratch_.path().string() + " \"$3\"", "replaced"}};
  for (const auto& [deed, what] : deeds) {
    write_text(scratch_ / "engine.sh",
               "#!/bin/sh\nif [ \"$1\" = run ] && grep -q '\"seed\":1,' \"$3/run.json\"; then " + deed +
                   "; exit 0; fi\nexec " PERFBENCH_FAKE_ENGINE " \"$@\"\n");
    std::filesystem::permissions(scratch_ / "engine.sh", std::filesystem::perms::owner_all);
    auto asked = sweep_request();
    asked.environment["PERFBENCH_ENGINE"] = (scratch_ / "engine.sh").string();
    EXPECT_EQ(run_process(asked).exit_code, 4) << deed;
    const auto found = by_seed(stored());
    ASSERT_EQ(found.size(), 2U) << deed;
    EXPECT_EQ(found.at(seed(Fake::ok)).state, AttemptState::crashed) << deed;
    EXPECT_THAT(found.at(seed(Fake::ok)).reason, HasSubstr("the attempt's folder was " + what)) << deed;
    EXPECT_EQ(found.at(seed(Fake::first_ok)).state, AttemptState::ok) << deed;
    std::filesystem::remove(scratch_ / "f.db");
  }
}

// An engine of any revision may run here: the environment that it sees contains no address and no token.
TEST_F(Faults, AnEngineSeesNothingOfTheWebhook) {
  write_matrix({seed(Fake::first_ok)});
  write_text(scratch_ / "engine.sh",
             "#!/bin/sh\nenv >> " + (scratch_ / "seen.txt").string() + "\nexec " PERFBENCH_FAKE_ENGINE " \"$@\"\n");
  std::filesystem::permissions(scratch_ / "engine.sh", std::filesystem::perms::owner_all);
  auto asked = sweep_request();
  asked.environment["PERFBENCH_ENGINE"] = (scratch_ / "engine.sh").string();
  asked.environment["PERFBENCH_WEBHOOK_URL"] = "https://hooks.example/secret-path";
  asked.environment["PERFBENCH_WEBHOOK_TOKEN"] = "xoxb-secret";
  const auto end = run_process(asked);
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  const auto seen = read_text(scratch_ / "seen.txt");
  EXPECT_THAT(seen, HasSubstr("PERFBENCH_ENGINE="));
  EXPECT_THAT(seen, testing::Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace perfbench::harness
