#include "harness/execute/classify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <limits>

namespace perfbench::harness {
namespace {

using ::testing::HasSubstr;

AttemptEvidence exited_with(int code, const std::string& status = "", const std::string& message = "") {
  AttemptEvidence evidence{.steps_recorded = 3, .steps_wanted = 10};
  evidence.end.exit_code = code;
  if (!status.empty()) {
    evidence.summary.emplace();
    evidence.summary->status = status;
    evidence.summary->message = message;
  }
  return evidence;
}

AttemptEvidence ended_by_us(EndCause cause) {
  auto evidence = exited_with(0);
  evidence.end.cause = cause;
  evidence.end.signal = SIGTERM;
  return evidence;
}

TEST(Classify, CallsARunOkOnlyWithItsResultAndAllItsRecords) {
  auto evidence = exited_with(0, "ok");
  EXPECT_EQ(classify(evidence).state, AttemptState::quarantined);
  EXPECT_THAT(classify(evidence).reason, HasSubstr("3 of 10 steps"));
  evidence.steps_recorded = 10;
  EXPECT_EQ(classify(evidence).state, AttemptState::ok);
  EXPECT_EQ(classify(evidence).reason, "");
}

TEST(Classify, QuarantinesARunWhoseGpuWasInTrouble) {
  auto evidence = exited_with(0, "ok");
  evidence.steps_recorded = 10;
  evidence.gpu_trouble = "the GPU lowered its clocks for heat in 3 of 9 samples";
  EXPECT_EQ(classify(evidence).state, AttemptState::quarantined);
  EXPECT_EQ(classify(evidence).reason, *evidence.gpu_trouble);
  evidence.end.exit_code = 4;  // an exit by a crash counts as a crash
  evidence.summary.reset();
  EXPECT_EQ(classify(evidence).state, AttemptState::crashed);
}

TEST(Classify, CallsARunWithDamagedFilesCrashedHoweverItEnded) {
  auto evidence = exited_with(0, "ok");
  evidence.steps_recorded = 10;
  evidence.damaged_files = {"env.json is empty", "steps.rank1.jsonl is a pipe"};
  EXPECT_EQ(classify(evidence).state, AttemptState::crashed);
  EXPECT_EQ(classify(evidence).reason,
            "the engine reports ok, but left damaged files; env.json is empty; steps.rank1.jsonl is a pipe");
  auto failed = exited_with(4, "failed", "no space left");
  failed.damaged_files = {"env.json is empty"};
  EXPECT_THAT(classify(failed).reason, testing::EndsWith("no space left; env.json is empty"));
}

TEST(Classify, SaysThatAFileGrewTooLarge) {
  auto evidence = exited_with(0);
  evidence.end.signal = SIGXFSZ;
  EXPECT_THAT(classify(evidence).reason, HasSubstr("no file of a run may hold more than 4 GiB"));
}

AttemptEvidence with_loss(AttemptEvidence evidence, double loss, double grad_norm) {
  evidence.finiteness.look_at({.step = 2, .loss = loss, .grad_norm = grad_norm});
  return evidence;
}

TEST(Classify, ARunThatEndedWellWithANonFiniteLossHasDiverged) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  auto evidence = exited_with(0, "ok");
  evidence.steps_recorded = 10;
  EXPECT_EQ(classify(with_loss(evidence, kNaN, 1)).state, AttemptState::diverged);
  EXPECT_EQ(classify(with_loss(evidence, kNaN, 1)).reason, "the loss became NaN at step 2");
  EXPECT_EQ(classify(with_loss(evidence, 5, kNaN)).state, AttemptState::ok);
  EXPECT_EQ(classify(with_loss(evidence, 5, kNaN)).reason, "the gradient norm became NaN at step 2");
  evidence.gpu_trouble = "hot";
  EXPECT_EQ(classify(with_loss(evidence, kNaN, 1)).state, AttemptState::diverged)
      << "whatever its GPU did to its times";
  EXPECT_EQ(classify(with_loss(evidence, kNaN, 1)).reason, "the loss became NaN at step 2; hot");
}

TEST(Classify, ReportsThatTheLossOfAFailedRunDivergedBefore) {
  auto evidence = with_loss(exited_with(4, "failed", "no space"), std::numeric_limits<double>::infinity(), 1);
  EXPECT_EQ(classify(evidence).state, AttemptState::crashed);
  EXPECT_THAT(classify(evidence).reason, HasSubstr("the loss became infinite at step 2; exit code 4 after 3 of 10"));
}

TEST(Classify, DoesNotTrustAnExitCodeOfZeroWithoutAResult) {
  const auto outcome = classify(exited_with(0));
  EXPECT_EQ(outcome.state, AttemptState::crashed);
  EXPECT_THAT(outcome.reason, HasSubstr("without result.json"));
}

TEST(Classify, DoesNotTrustAResultWhenTheExitCodeSaysOtherwise) {
  auto evidence = exited_with(1, "ok");
  evidence.steps_recorded = 10;
  EXPECT_EQ(classify(evidence).state, AttemptState::crashed);
  EXPECT_EQ(classify(evidence).exit_code, 1);
}

TEST(Classify, BelievesTheEngineAboutItsOwnFailure) {
  EXPECT_EQ(classify(exited_with(5, "out_of_memory", "x needs 9 GiB")).state, AttemptState::out_of_memory);
  EXPECT_THAT(classify(exited_with(5, "out_of_memory", "x needs 9 GiB")).reason, HasSubstr("x needs 9 GiB"));
  EXPECT_EQ(classify(exited_with(6, "infeasible")).state, AttemptState::infeasible);
  EXPECT_EQ(classify(exited_with(3, "input_error")).state, AttemptState::crashed);
  EXPECT_EQ(classify(exited_with(4, "failed")).state, AttemptState::crashed);
}

TEST(Classify, FallsBackOnTheExitCodeWithoutAResult) {
  EXPECT_EQ(classify(exited_with(5)).state, AttemptState::out_of_memory);
  EXPECT_EQ(classify(exited_with(6)).state, AttemptState::infeasible);
}

TEST(Classify, NamesTheSignalAndTheLastWordsOfTheLog) {
  auto evidence = exited_with(0);
  evidence.end.signal = SIGSEGV;
  evidence.log_lines = {"perfbench-engine: rank 1: step 3 is bad", "mpirun: a process ended"};
  const auto outcome = classify(evidence);
  EXPECT_EQ(outcome.state, AttemptState::crashed);
  EXPECT_EQ(outcome.signal, SIGSEGV);
  EXPECT_THAT(outcome.reason, HasSubstr("signal 11"));
  EXPECT_THAT(outcome.reason, HasSubstr("step 3 is bad"));
}

// The last line of a log often gives the place of an error inside a library, or a general remark.
TEST(Classify, GivesTheCauseAndNotTheLastLineOfALibrary) {
  auto evidence = exited_with(243);
  evidence.ranks = 2;
  const std::string trace = "[vm:04251] [[INVALID],INVALID] FORCE-TERMINATE AT Not found:-13 - error plm_rsh.c(335)";
  evidence.log_lines = {"The value of plm_rsh_agent was set to a path", "that could not be found:", "  agent: ssh",
                        trace};
  evidence.launcher_messages = {"The value of plm_rsh_agent was set to a path that could not be found: agent: ssh"};
  EXPECT_THAT(classify(evidence).reason,
              testing::EndsWith(": The value of plm_rsh_agent was set to a path that could not be found: agent: ssh"));

  const std::string general = "Primary job  terminated normally, but 1 process returned a non-zero exit code.";
  evidence.launcher_messages = {general};
  evidence.log_lines = {"double free or corruption (out)", "[vm:7] *** Process received signal ***", general};
  EXPECT_THAT(classify(evidence).reason, testing::EndsWith(": double free or corruption (out)"));

  evidence.log_lines = {"[vm:7] *** An error occurred in MPI_Send", "[vm:7] *** reported by process 1", general};
  EXPECT_THAT(classify(evidence).reason, testing::EndsWith(": [vm:7] *** An error occurred in MPI_Send"));

  evidence.log_lines = {general};
  EXPECT_THAT(classify(evidence).reason, testing::EndsWith(general)) << "better than nothing";
}

TEST(Classify, FindsTheRankThatMpirunReports) {
  auto evidence = exited_with(139);
  evidence.ranks = 2;
  evidence.log_lines = {
      "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 11 (Segmentation "
      "fault)."};
  const auto outcome = classify(evidence);
  EXPECT_EQ(outcome.state, AttemptState::crashed);
  EXPECT_EQ(outcome.signal, SIGSEGV);
  EXPECT_THAT(outcome.reason, HasSubstr("rank 1"));
}

TEST(Classify, TakesNoRankFromALineOfAnotherForm) {
  auto evidence = exited_with(139);
  evidence.ranks = 2;
  evidence.log_lines = {"process rank 99999999999999999999 with PID 0 exited on signal 6",
                        "process rank two exited on signal 6", "process rank 1 exited on signal"};
  const auto outcome = classify(evidence);
  EXPECT_EQ(outcome.state, AttemptState::crashed);
  EXPECT_EQ(outcome.signal, SIGSEGV);  // from the exit code
}

TEST(Classify, ReadsALaunchersExitCodeAsASignalWhereItSaysNothing) {
  auto evidence = exited_with(128 + SIGABRT);
  evidence.ranks = 2;
  EXPECT_EQ(classify(evidence).signal, SIGABRT);
}

TEST(Classify, AttributesSignal9ToMemoryOnlyIfTheKernelKilled) {
  auto evidence = exited_with(0);
  evidence.end.signal = SIGKILL;
  EXPECT_EQ(classify(evidence).state, AttemptState::crashed);
  evidence.kernel_memory_kills = 1;
  EXPECT_EQ(classify(evidence).state, AttemptState::out_of_memory);
}

TEST(Classify, KnowsWhyTheHarnessEndedARun) {
  auto late = ended_by_us(EndCause::time_limit);
  late.time_limit = std::chrono::seconds(90);
  EXPECT_EQ(classify(late).state, AttemptState::timed_out);
  EXPECT_THAT(classify(late).reason, HasSubstr("90 s"));
  EXPECT_THAT(classify(late).reason, HasSubstr("after 3 of 10 steps"));
  auto large = ended_by_us(EndCause::memory_limit);
  large.memory_limit_bytes = std::int64_t{1} << 30;
  large.end.peak_resident_bytes = std::int64_t{3} << 29;
  EXPECT_EQ(classify(large).state, AttemptState::out_of_memory);
  EXPECT_THAT(classify(large).reason, HasSubstr("used 1.50 GiB, the limit is 1.00 GiB"));
  EXPECT_EQ(classify(ended_by_us(EndCause::cancelled)).state, AttemptState::cancelled);
}

TEST(Classify, KeepsTheReasonToOneLine) {
  const auto outcome = classify(exited_with(4, "failed", "first\nsecond\x1b[31m" + std::string(5000, 'x')));
  EXPECT_THAT(outcome.reason, HasSubstr("first second [31mxxx"));
  EXPECT_LT(outcome.reason.size(), 600U);
}

}  // namespace
}  // namespace perfbench::harness
