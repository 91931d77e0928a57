// The effect of `--resume` on the sweep as a whole.
#include <csignal>
#include <set>
#include <tuple>

#include "tests/harness/faults/fault_fixture.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::Not;
using Fake = perfbench::fake::FakeBehaviour;

TEST_F(Faults, AResumedSweepIsOneSweepWithOneTable) {
  const auto first = static_cast<std::int64_t>(Fake::first_ok);
  cut_off_after(first);
  write_matrix({first, first + 1});
  const auto rest = sweep({"--resume"});
  EXPECT_EQ(rest.exit_code, 0) << rest.error_output;
  std::set<std::string> sweeps;
  for (const auto& attempt : stored()) sweeps.insert(attempt.sweep_id);
  EXPECT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(stored().size(), 3U) << "one was cancelled";
  const auto again = sweep({"--resume"});
  EXPECT_THAT(again.output, HasSubstr("2 done before"));
  const auto table = [](const std::string& output) { return output.substr(0, output.find("MFU by")); };
  EXPECT_EQ(table(again.output), table(rest.output)) << "the whole sweep each time";
  EXPECT_NE(sweep().output.find("2 ok"), std::string::npos);
  EXPECT_EQ(stored().size(), 5U) << "without --resume every cell once more, as another sweep";
}

// Worse than Ctrl-C: perfbench is killed in its first cell, and no attempt records the request.
TEST_F(Faults, AResumedSweepHasTheOptionsWithWhichItBegan) {
  const auto first = static_cast<std::int64_t>(Fake::first_ok);
  write_matrix({first, first + 1, first + 2});
  const auto only = "seed=" + std::to_string(first + 1);
  const std::vector<std::string> options{"--only", only, "--set", "steps=4", "--repeats", "2"};
  EXPECT_EQ(run_process(killed_by_its_engine(sweep_request(options))).signal, SIGKILL);
  EXPECT_TRUE(stored().empty());
  EXPECT_THAT(sweep({"--resume", "--dry-run"}).output, Not(HasSubstr("seed=" + std::to_string(first + 2))));

  const auto rest = sweep({"--resume"});
  EXPECT_EQ(rest.exit_code, 0) << rest.error_output;
  EXPECT_THAT(rest.error_output, HasSubstr("began with --only " + only + " --repeats 2 --set steps=4"));
  const auto attempts = stored();
  ASSERT_EQ(attempts.size(), 2U);
  for (const auto& attempt : attempts) {
    EXPECT_EQ(attempt.run->seed, static_cast<std::uint64_t>(first + 1));
    EXPECT_EQ(attempt.run->steps, 4);
  }
  auto same = options;
  same.emplace_back("--resume");
  EXPECT_THAT(sweep(same).output, HasSubstr("1 done before"));
}

TEST_F(Faults, AResumedSweepRefusesOtherOptionsAndNamesBoth) {
  const auto first = static_cast<std::int64_t>(Fake::first_ok);
  write_matrix({first, first + 1});
  ASSERT_EQ(sweep({"--only", "seed=100", "--repeats", "2"}).exit_code, 0);
  for (const auto& [option, value, begun] : {std::tuple{"--only", "seed=101", "--only seed=100"},
                                             {"--repeats", "3", "--repeats 2"},
                                             {"--set", "steps=5", "no --set"}}) {
    const auto refused = sweep({"--resume", option, value});
    EXPECT_EQ(refused.exit_code, 3) << option;
    EXPECT_THAT(refused.error_output,
                HasSubstr(std::string("began with ") + begun + ", but the request has " + option + " " + value + ":"));
  }
  EXPECT_EQ(stored().size(), 2U);
}

TEST_F(Faults, ARepeatedSweepThatWasCutOffGoesOnWhereItStopped) {
  const auto first = static_cast<std::int64_t>(Fake::first_ok);
  write_matrix({first, first + 1});
  ASSERT_EQ(sweep().exit_code, 0);
  // The second cell is interrupted in its first round: three of its attempts are missing, and two of the first cell's.
  write_matrix({first, static_cast<std::int64_t>(Fake::hang)});
  EXPECT_EQ(run_process(interrupted_by_its_engine(sweep_request({"--repeats", "3"}))).exit_code, 4);
  ASSERT_EQ(stored().size(), 4U);
  const auto cut_off = stored().back().sweep_id;
  write_matrix({first});
  const auto rest = sweep({"--resume"});
  EXPECT_EQ(rest.exit_code, 0) << rest.error_output;
  ASSERT_EQ(stored().size(), 6U);
  EXPECT_EQ(stored().back().sweep_id, cut_off);
  EXPECT_THAT(sweep({"--resume"}).output, HasSubstr("1 done before"));
}

TEST_F(Faults, ASweepIsNotResumedWithAnotherEngine) {
  const auto first = static_cast<std::int64_t>(Fake::first_ok);
  cut_off_after(first);
  write_matrix({first, first + 1});
  write_text(scratch_ / "other", "#!/bin/sh\nexec " + sweep_request().environment.at("PERFBENCH_ENGINE") + " \"$@\"\n");
  std::filesystem::permissions(scratch_ / "other", std::filesystem::perms::owner_all);
  auto request = sweep_request({"--resume"});
  request.environment["PERFBENCH_ENGINE"] = (scratch_ / "other").string();
  const auto refused = run_process(request);
  EXPECT_EQ(refused.exit_code, 3) << refused.output;
  EXPECT_THAT(refused.error_output, HasSubstr("another engine began the sweep " + stored().front().sweep_id));
  EXPECT_EQ(stored().size(), 2U);
  EXPECT_EQ(sweep({"--resume"}).exit_code, 0);
  EXPECT_EQ(run_process(request).exit_code, 0) << "there is nothing left to mix";
  EXPECT_EQ(stored().size(), 3U);
}

TEST_F(Faults, OutputThatCannotBeWrittenIsAFailure) {
  write_matrix({static_cast<std::int64_t>(Fake::first_ok)});
  ASSERT_EQ(sweep().exit_code, 0);
  auto report = request({"report", "--db", "f.db"});
  report.output_file = "/dev/full";
  EXPECT_EQ(run_process(report).exit_code, 4);
}

}  // namespace
}  // namespace perfbench::harness
