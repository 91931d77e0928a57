// Progress output that nobody can read stops nothing; a table that cannot be written is an error, reported after
// everything is recorded.
#include <filesystem>

#include "tests/harness/faults/fault_fixture.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// The shell makes the redirections and becomes perfbench. "gone" is a FIFO whose reader has left.
ProcessRequest redirected(ProcessRequest request, const std::string& redirections) {
  const std::string script = "mkfifo gone && exec 9<>gone 8>gone 9<&- && exec \"$@\" " + redirections;
  const std::vector<std::string> shell{"/bin/sh", "-c", script, "sh"};
  request.command.insert(request.command.begin(), shell.begin(), shell.end());
  return request;
}

class UnwritableOutput : public Faults {
 protected:
  void SetUp() override {
    const auto first_ok = static_cast<std::int64_t>(fake::FakeBehaviour::first_ok);
    write_matrix({first_ok, first_ok + 1, first_ok + 2});
  }
  ProcessEnd sweep_with(const std::string& redirections) const {
    return run_process(redirected(sweep_request(), redirections));
  }
  void expect_all_stored() const {
    EXPECT_EQ(stored().size(), 3U);
    for (const auto& attempt : stored()) EXPECT_EQ(attempt.state, AttemptState::ok) << attempt.reason;
  }
};

TEST_F(UnwritableOutput, AFullStandardErrorEndsNoSweep) {
  const auto end = sweep_with("2>/dev/full");
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(end.output, HasSubstr("3 ok"));
  expect_all_stored();
}

TEST_F(UnwritableOutput, AStandardErrorWhoseReaderLeftEndsNoSweep) {
  const auto end = sweep_with("2>&8");
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(end.output, HasSubstr("3 ok"));
  expect_all_stored();
}

TEST_F(UnwritableOutput, OutputOfTheSweepNeverGetsIntoAFileThatTookTheNumberOfAClosedStream) {
  const auto end = sweep_with("0<&- 2>&-");
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(end.output, HasSubstr("3 ok"));
  expect_all_stored();
}

// The signal of such a limit would end perfbench without a message.
TEST_F(UnwritableOutput, ALimitOnTheSizeOfFilesIsAnErrorOfTheWrite) {
  auto request = sweep_request();
  request.largest_file_bytes = 8192;
  const auto end = run_process(request);
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_THAT(end.error_output, testing::AllOf(HasSubstr("f.db"), HasSubstr("ulimit -f")));
}

TEST_F(UnwritableOutput, ATableThatCannotBeWrittenIsAnErrorOnceAllIsRecorded) {
  for (const auto* redirection : {">/dev/full", ">&-", ">&- 2>&-"}) {
    const auto end = sweep_with(redirection);
    EXPECT_EQ(end.signal, 0) << redirection;
    EXPECT_EQ(end.exit_code, 4) << redirection << end.error_output;
    expect_all_stored();
    fs::remove(scratch_ / "gone");
    fs::remove(scratch_ / "f.db");
  }
  for (const auto& request : {sweep_request(), request({"plan", "faults.yaml"}), request({"report", "--db", "f.db"})}) {
    EXPECT_THAT(run_process(redirected(request, ">/dev/full")).error_output,
                HasSubstr("cannot write to standard output: No space left on device"));
    fs::remove(scratch_ / "gone");
  }
}

// `perfbench report | head -1`: the reader has what it wanted.
TEST_F(UnwritableOutput, AReaderThatLeftChangesNoExitCode) {
  for (const auto* redirection : {">&8", ">&8 2>&8"}) {
    const auto end = sweep_with(redirection);
    EXPECT_EQ(end.signal, 0) << redirection;
    EXPECT_EQ(end.exit_code, 0) << redirection << end.error_output;
    EXPECT_THAT(end.error_output, testing::Not(HasSubstr("standard output")));
    expect_all_stored();
    fs::remove(scratch_ / "gone");
    fs::remove(scratch_ / "f.db");
  }
}

TEST_F(UnwritableOutput, HelpThatCannotBeWrittenIsAnError) {
  for (const auto* option : {"--help", "--version"}) {
    EXPECT_EQ(run_process(redirected(request({option}), ">/dev/full")).exit_code, 4) << option;
    EXPECT_EQ(run_process(request({option})).exit_code, 0) << option;
    fs::remove(scratch_ / "gone");
  }
}

TEST_F(UnwritableOutput, AComparisonIsMadeToItsEnd) {
  const auto compared = request({"compare", "--ab", "current", "current", "faults.yaml", "--db", "f.db", "--pairs", "4",
                                 "--most-foreign", "1000", "--most-steal", "1000"});
  EXPECT_NE(run_process(redirected(compared, ">&8 2>/dev/full")).exit_code, 4);
  const auto db = open_database(scratch_ / "f.db", {.mode = OpenMode::read_only});
  Statement finished(db, "SELECT count(*) FROM ab_comparisons WHERE finished_utc IS NOT NULL");
  ASSERT_TRUE(finished.step());
  EXPECT_EQ(finished.integer(0), 1);
}

// A child handles a reader that leaves in its own way: `yes` must end, and not spin.
TEST_F(UnwritableOutput, TheEngineHasTheDefaultSignalHandlers) {
  write_text(scratch_ / "engine", "#!/bin/sh\ngrep SigIgn /proc/self/status >signals\nexec " +
                                      std::string(PERFBENCH_FAKE_ENGINE) + " \"$@\"\n");
  fs::permissions(scratch_ / "engine", fs::perms::owner_all);
  auto swept = sweep_request();
  swept.environment["PERFBENCH_ENGINE"] = (scratch_ / "engine").string();
  EXPECT_EQ(run_process(swept).exit_code, 0);
  EXPECT_THAT(read_text(scratch_ / "signals"), HasSubstr("0000000000000000"));
}

}  // namespace
}  // namespace perfbench::harness
