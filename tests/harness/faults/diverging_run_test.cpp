// A run of the real engine whose learning rate is far too high, from the matrix to the gate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/execute/process.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class DivergingRun : public testing::Test {
 protected:
  ProcessEnd perfbench(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    return run_process({.command = arguments,
                        .working_dir = scratch_.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}}});
  }

  // A matrix of two cells, of which the second one diverges: `rate` is its learning rate.
  void write_matrix(const std::string& file, const std::string& rate) const {
    write_text(scratch_ / file,
               "name: rates\n"
               "defaults: {model: gpt-tiny, seq_len: 16, global_batch: 2, steps: 12, threads_per_rank: 1,\n"
               "           optimizer: {learning_rate: " +
                   rate +
                   ", clip_norm: 0, warmup_steps: 0}}\n"
                   "axes:\n"
                   "  attention: [flash, dot_product]\n");
  }

  ScratchFolder scratch_;
};

const char* const kLost = "diverged: the loss became (NaN|infinite) at step [1-9]";

TEST_F(DivergingRun, IsReportedByTheSweepTheReportAndTheComparisonOfTwoSides) {
  write_matrix("diverging.yaml", "1000");
  const auto sweep = perfbench({"sweep", "diverging.yaml", "--db", "d.db"});
  EXPECT_EQ(sweep.exit_code, 4) << sweep.output << sweep.error_output;
  EXPECT_THAT(sweep.output, HasSubstr("2 diverged"));
  EXPECT_THAT(sweep.output, ContainsRegex(kLost));
  const auto report = perfbench({"report", "--db", "d.db"});
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_THAT(report.output, ContainsRegex(kLost));
  EXPECT_THAT(report.output, HasSubstr("| diverged "));
  const auto both = perfbench({"compare", "--ab", "current", "current", "diverging.yaml", "--only", "attention=flash",
                               "--db", "ab.db", "--pairs", "8", "--gate"});
  EXPECT_EQ(both.exit_code, 2) << both.output << both.error_output;
  EXPECT_THAT(both.output, ContainsRegex(std::string("A failed 3 of 3 times .") + kLost));
  EXPECT_THAT(both.output, Not(HasSubstr("SAME")));
}

// At half the level of 0.01, Fisher's test distinguishes six failures of six from none of six, but not five of five
// from none of five.
TEST_F(DivergingRun, OnOneSideOnlyIsARegressionHoweverFewPairsWereRequested) {
  write_matrix("sound.yaml", "0.001");
  const auto comparison = perfbench({"compare", "--ab", "current", "set:optimizer.learning_rate=1000", "sound.yaml",
                                     "--only", "attention=flash", "--db", "ab.db", "--pairs", "2"});
  EXPECT_EQ(comparison.exit_code, 1) << comparison.output << comparison.error_output;
  EXPECT_THAT(comparison.output, ContainsRegex(std::string("B failed 6 of 6 times .") + kLost));
  EXPECT_THAT(comparison.error_output, HasSubstr("2 pairs cannot name a difference"));
}

TEST_F(DivergingRun, AGateOfTooFewPairsIsRefusedBeforeAnythingRuns) {
  write_matrix("sound.yaml", "0.001");
  const auto gate =
      perfbench({"compare", "--ab", "current", "current", "sound.yaml", "--db", "ab.db", "--pairs", "7", "--gate"});
  EXPECT_EQ(gate.exit_code, 3);
  EXPECT_THAT(gate.error_output,
              HasSubstr("--gate with --pairs 7: they cannot name a difference at p < 0.01, which takes 8"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "ab.db"));
}

// Selects the same cells by their labels, because numbers from outside have no run id.
TEST_F(DivergingRun, TurnsAGateRed) {
  write_matrix("fine.yaml", "0.001");
  write_matrix("diverging.yaml", "1000");
  ASSERT_EQ(perfbench({"sweep", "fine.yaml", "--db", "d.db"}).exit_code, 0);
  write_text(scratch_ / "was.csv",
             "cell,metric,value\n"
             "attention=flash,final_loss,7\n"
             "attention=dot_product,final_loss,7\n");
  const auto import = perfbench(
      {"baseline", "import", "was", "--db", "d.db", "--from", "was.csv", "--reason", "r", "--author", "tester"});
  ASSERT_EQ(import.exit_code, 0) << import.error_output;
  const std::vector<std::string> gate{"compare", "--db", "d.db", "--baseline", "was", "--metric", "final_loss"};
  EXPECT_NE(perfbench(gate).exit_code, 1) << perfbench(gate).output;
  ASSERT_EQ(perfbench({"sweep", "diverging.yaml", "--db", "d.db"}).exit_code, 4);
  const auto red = perfbench(gate);
  EXPECT_EQ(red.exit_code, 1) << red.output << red.error_output;
  EXPECT_THAT(red.output, ContainsRegex(kLost));
}

}  // namespace
}  // namespace perfbench::harness
