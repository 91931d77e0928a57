// perfbench predict, as a user or a CI job calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/harness/cli/run_perfbench.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PredictCommand : public testing::Test {
 protected:
  ProcessEnd run(std::vector<std::string> words) const {
    words.insert(words.begin(), "predict");
    return run_perfbench(words, scratch_.path(), {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}});
  }

  const ScratchFolder scratch_;
};

TEST_F(PredictCommand, ScoresEverySplitBesideItsBaselines) {
  const auto end = run({"--score", "--format", "json"});
  ASSERT_EQ(end.exit_code, 0) << end.error_output;
  const auto document = nlohmann::json::parse(end.output);
  std::set<std::string> splits;
  for (const auto& row : document["scores"]) {
    splits.insert(row["split"]);
    EXPECT_GT(row["constant_mfu_mape_fraction"].get<double>(), 0) << row["rows"];
    EXPECT_GT(row["interval_half_width_fraction"].get<double>(), 0) << row["rows"];
  }
  EXPECT_EQ(splits.size(), 6U);
  EXPECT_EQ(document["unpredicted"].size(), 9U);
}

TEST_F(PredictCommand, PredictsTheCellsOfAMatrixOrSaysWhyNot) {
  const auto end = run({"maxtext", "--stack", "xla-gpu-te", "--only", "attention=flash", "--only", "scan=false",
                        "--only", "remat=minimal_flash,save_qkv_proj", "--format", "json"});
  ASSERT_EQ(end.exit_code, 0) << end.error_output;
  const auto cells = nlohmann::json::parse(end.output)["predictions"];
  ASSERT_EQ(cells.size(), 3U);
  const auto published =
      nlohmann::json::parse(run({"--rows", "--format", "json"}).output)["predictions"].at(0)["predicted_step_s"];
  for (const auto& cell : cells) {
    const std::string label = cell["cell"];
    if (label.find("set=local") != std::string::npos) {
      EXPECT_THAT(cell["reason"].get<std::string>(), HasSubstr("no figures for the hardware host"));
    } else if (label.find("save_qkv_proj") != std::string::npos) {
      EXPECT_THAT(cell["reason"].get<std::string>(), HasSubstr("no counts for remat=save_qkv_proj"));
      EXPECT_TRUE(cell["predicted_step_s"].is_null());
    } else {
      EXPECT_EQ(cell["predicted_step_s"], published) << "published:maxtext/llama2-7b-8xh100";
      EXPECT_LT(cell["interval_low_s"], cell["predicted_step_s"]);
      // Two sequences of 4096 tokens a device.
      EXPECT_NEAR(cell["tokens_per_s_per_device"].get<double>() * published.get<double>(), 2 * 4096, 1e-6);
    }
  }
}

TEST_F(PredictCommand, NeedsTheStackOfAMatrixAndOneKindOfQuestion) {
  EXPECT_THAT(run({"maxtext"}).error_output, HasSubstr("--stack xla-gpu-te"));
  EXPECT_THAT(run({"maxtext", "--stack", "xla-gpu-t"}).error_output, HasSubstr("xla-gpu-te"));
  EXPECT_THAT(run({"maxtext", "--stack", "xla-gpu-te", "--score"}).error_output, HasSubstr("leave the matrix out"));
  for (const auto* stack : {"", "xla-gpu-t"}) EXPECT_EQ(run({"maxtext", "--stack", stack}).exit_code, 3);
}

TEST_F(PredictCommand, SaysTheSameTwice) {
  EXPECT_EQ(run({"--score", "--rows", "--format", "csv"}).output, run({"--score", "--rows", "--format", "csv"}).output);
}

TEST_F(PredictCommand, ListsEveryRowWithTermsThatAddUp) {
  const auto end = run({"--rows", "--format", "json"});
  ASSERT_EQ(end.exit_code, 0) << end.error_output;
  const auto rows = nlohmann::json::parse(end.output)["predictions"];
  EXPECT_EQ(rows.size(), 402U);
  for (const auto& row : rows) {
    double sum = 0;
    for (const auto* term :
         {"matmul_s", "attention_s", "memory_s", "launches_s", "tensor_parallel_s", "exposed_communication_s", "head_s",
          "pipeline_s", "data_parallel_s", "optimizer_s", "host_s", "stragglers_s"}) {
      sum += row[term].get<double>();
    }
    EXPECT_NEAR(sum / row["predicted_step_s"].get<double>(), 1, 1e-9) << row["row"];
    EXPECT_LT(row["interval_low_s"], row["predicted_step_s"]) << row["row"];
    EXPECT_LT(row["predicted_step_s"], row["interval_high_s"]) << row["row"];
  }
}

TEST_F(PredictCommand, TheGateEndsWithOneIfAScoreIsWorse) {
  const auto file = std::string(PERFBENCH_SOURCE_DIR) + "/workloads/predictor/expected_scores.yaml";
  const auto fine = run({"--score", "--gate", file});
  EXPECT_EQ(fine.exit_code, 0) << fine.output;
  EXPECT_THAT(fine.output, HasSubstr("No score is worse than expected"));
  write_text(scratch_ / "strict.yaml",
             "expected:\n  - {split: zero_fit, rows: reference, count: 20, mape_percent: 5.0}\n");
  const auto worse = run({"--score", "--split", "zero_fit", "--gate", "strict.yaml"});
  EXPECT_EQ(worse.exit_code, 1);
  EXPECT_THAT(worse.output,
              AllOf(HasSubstr("zero_fit, reference: the mean absolute error is"), HasSubstr("it was 5.0 %")));
  EXPECT_EQ(run({"--score", "--split", "extrapolation", "--gate", "strict.yaml"}).exit_code, 0);
}

TEST_F(PredictCommand, NamesWhatIsWrongInItsInput) {
  const auto nothing = run({});
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_THAT(nothing.error_output, AllOf(HasSubstr("--score"), HasSubstr("--rows")));
  const auto split = run({"--score", "--split", "zero_fits"});
  EXPECT_EQ(split.exit_code, 3);
  EXPECT_THAT(split.error_output, HasSubstr("did you mean 'zero_fit'"));
  write_text(scratch_ / "wrong.yaml", "expected:\n  - {split: zero_fit, rows: reference, mape: 5.0}\n");
  const auto gate = run({"--score", "--gate", "wrong.yaml"});
  EXPECT_EQ(gate.exit_code, 3);
  EXPECT_THAT(gate.error_output, HasSubstr("wrong.yaml:2:"));
}

}  // namespace
}  // namespace perfbench::harness
