// A sweep on a machine with two emulated GPUs: the built perfbench plans, starts, records and reports runs of the
// engine's own CUDA backend and its NCCL calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "harness/execute/process.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class SweepOfEmulatedGpus : public testing::Test {
 protected:
  ProcessEnd sweep(const char* gpus) const {
    return run_process(
        {.command = {std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "sweep", "g.yaml", "--db", "g.db"},
         .working_dir = scratch_.path(),
         .environment = {{"PERFBENCH_ENGINE", PERFBENCH_EMULATED_ENGINE_FILE},
                         {"PERFBENCH_EMULATED_GPUS", gpus},
                         {"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}}});
  }
  // The losses of a run's steps, by the mesh axis that has two ranks.
  std::map<std::string, std::vector<double>> losses() const {
    std::map<std::string, std::vector<double>> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch_.path())) {
      if (entry.path().filename() != "steps.rank0.jsonl") continue;
      const auto run = json::parse(read_text(entry.path().parent_path() / "run.json"));
      EXPECT_EQ(run.at("device"), "cuda");
      std::string axis = "one";
      for (const auto& [name, ranks] : run.at("mesh").at("ici").items()) {
        if (ranks == 2) axis = name;
      }
      std::istringstream lines(read_text(entry.path()));
      for (std::string line; std::getline(lines, line);) out[axis].push_back(json::parse(line).at("loss"));
    }
    return out;
  }

  ScratchFolder scratch_;
};

TEST_F(SweepOfEmulatedGpus, GivesEqualLossesOnEveryPossibleMesh) {
  write_text(scratch_ / "g.yaml",
             "name: g\n"
             "defaults: {model: gpt-tiny, device: cuda, seq_len: 16, global_batch: 4, steps: 3}\n"
             "include:\n  - {dp: 1}\n  - {dp: 2}\n  - {fsdp: 2}\n  - {tp: 2}\n  - {pp: 2, grad_accum: 2}\n");
  const auto end = sweep("2");
  ASSERT_EQ(end.exit_code, 0) << end.output << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("emulated sm_90"));
  EXPECT_THAT(end.output, Not(HasSubstr("infeasible")));
  const auto found = losses();
  ASSERT_EQ(found.size(), 5U);
  for (const auto& [axis, of_steps] : found) {
    ASSERT_EQ(of_steps.size(), 3U) << axis;
    for (std::size_t i = 0; i < of_steps.size(); ++i) {
      // f32 sums in another order: far less than the change that one step makes.
      EXPECT_NEAR(of_steps[i], found.at("one")[i], 1e-4 * found.at("one")[i]) << axis << " step " << i;
    }
  }
}

TEST_F(SweepOfEmulatedGpus, OnlyPlansIfThereAreTooFewAndSaysSo) {
  write_text(scratch_ / "g.yaml",
             "name: g\ndefaults: {model: gpt-tiny, device: cuda, seq_len: 16, global_batch: 4, fsdp: 2}\n");
  const auto end = sweep("1");
  EXPECT_THAT(end.error_output + end.output, HasSubstr("device cuda with 2 ranks, but this machine has 1 GPU"));
  EXPECT_THAT(end.output, HasSubstr("| this GPU "));
}

}  // namespace
}  // namespace perfbench::harness
