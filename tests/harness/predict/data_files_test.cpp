// Mistakes in the predictor's data files, and rows that name what does not exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "harness/app/runs/predictor_scores.h"
#include "harness/predict/score_gate.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"

namespace perfbench::predict {
namespace {
namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

class DataFiles : public testing::Test {
 protected:
  DataFiles() {
    for (const auto* folder : {"hardware", "models", "predictor", "published"}) {
      fs::create_directories(root() / "workloads");
      fs::copy(fs::path(PERFBENCH_SOURCE_DIR) / "workloads" / folder, root() / "workloads" / folder,
               fs::copy_options::recursive);
    }
  }

  fs::path root() const { return folder_.path(); }

  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    const auto path = root() / "workloads" / file;
    auto changed = harness::read_text(path);
    const auto place = changed.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    changed.replace(place, from.size(), to);
    harness::write_text(path, changed);
  }

  std::string error() const {
    try {
      harness::predictor_scores(root(), {ScoreSplit::zero_fit});
    } catch (const harness::InputError& e) {
      return e.what();
    }
    return "no error";
  }

 private:
  harness::ScratchFolder folder_;
};

TEST_F(DataFiles, AreFineAsTheyAre) {
  EXPECT_EQ(error(), "no error");
}

TEST_F(DataFiles, AnUnknownKeyOfADeviceHasItsPlaceAndASuggestion) {
  replace("predictor/rates.yaml", "multiprocessors: 108", "multiprocesors: 108");
  EXPECT_THAT(error(), AllOf(HasSubstr("rates.yaml:"), HasSubstr("multiprocesors"), HasSubstr("'multiprocessors'")));
}

TEST_F(DataFiles, ADeviceWithoutANeededFigureIsRefused) {
  replace("predictor/rates.yaml", "    node_bus_bytes_per_s: 230e9\n", "");
  EXPECT_THAT(error(), AllOf(HasSubstr("rates.yaml:"), HasSubstr("'a100-80g' needs node_bus_bytes_per_s")));
}

TEST_F(DataFiles, AnUnknownArchitectureIsRefused) {
  replace("predictor/rates.yaml", "architecture: a100", "architecture: a10");
  EXPECT_THAT(error(), HasSubstr("unknown architecture 'a10' (did you mean 'a100'?)"));
}

TEST_F(DataFiles, UnknownHardwareIsRefused) {
  replace("predictor/rates.yaml", "hardware: h200", "hardware: h2000");
  EXPECT_THAT(error(), AllOf(HasSubstr("rates.yaml:"), HasSubstr("unknown hardware 'h2000'")));
}

TEST_F(DataFiles, AStackOfAnotherNameIsRefused) {
  replace("predictor/stacks/llmq.yaml", "name: llmq", "name: llmk");
  EXPECT_THAT(error(), AllOf(HasSubstr("llmq.yaml:3:"), HasSubstr("its stack 'llmk'")));
}

TEST_F(DataFiles, ARowWithAnUnknownStackNamesRowAndStack) {
  replace("published/seqax.yaml", "stack: seqax", "stack: seqx");
  EXPECT_THAT(error(), HasSubstr("published:seqax/84m-8xa100: unknown stack 'seqx' (did you mean 'seqax'?)"));
}

TEST_F(DataFiles, ARowWithAnUnknownAttentionKernelIsRefused) {
  replace("published/seqax.yaml", "attention_kernel: seqax", "attention_kernel: flash");
  EXPECT_THAT(error(), HasSubstr("published:seqax/84m-8xa100: unknown attention kernel 'flash'"));
}

TEST_F(DataFiles, AnFp8RowNeedsAnFp8Figure) {
  replace("predictor/rates.yaml", "    sustained_fraction_fp8: 0.62\n", "");
  EXPECT_THAT(error(), AllOf(HasSubstr("published:"), HasSubstr("'h100' has no sustained_fraction_fp8")));
}

TEST_F(DataFiles, AnUnknownKeyOfASetupHasItsPlace) {
  replace("published/seqax.yaml", "attention_kernel: seqax", "kernel: seqax");
  EXPECT_THAT(error(), AllOf(HasSubstr("seqax.yaml:"), HasSubstr("unknown key 'kernel'")));
}

TEST_F(DataFiles, AnExpectedScoreOfAnUnknownSplitHasItsPlace) {
  replace("predictor/expected_scores.yaml", "split: zero_fit", "split: zerofit");
  try {
    load_expected_scores(root() / "workloads" / "predictor" / "expected_scores.yaml");
    FAIL();
  } catch (const harness::InputError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("expected_scores.yaml:4:"), HasSubstr("zerofit")));
  }
}

}  // namespace
}  // namespace perfbench::predict
