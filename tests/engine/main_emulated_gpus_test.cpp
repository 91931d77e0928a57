// perfbench-engine on emulated GPUs, as a program that mpirun starts for each: it trains and ends like one rank on the
// CPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/metrics/record_files.h"
#include "tests/engine/engine_program.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"
#include "tests/spec/step_record.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;

class EmulatedGpus : public testing::Test {
 protected:
  ~EmulatedGpus() override { fs::remove_all(scratch_); }

  // The records of rank 0.
  std::vector<spec::StepRecord> run_engine(const std::string& engine, const spec::RunSpec& run) {
    fs::create_directories(scratch_);
    std::ofstream(scratch_ / "run.json") << spec::canonical_json(run);
    ::setenv("PERFBENCH_EMULATED_GPUS", "2", 1);
    std::vector<std::string> command;
    if (run.mesh.devices() > 1) {
      ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
      ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
      command = {PERFBENCH_MPIEXEC, "-np", std::to_string(run.mesh.devices()), "--oversubscribe", "--bind-to", "none"};
    }
    command.insert(command.end(), {engine, "run", "--dir", scratch_.string()});
    said_ = lines_of_program(std::move(command));
    std::vector<spec::StepRecord> records;
    std::ifstream in(scratch_ / "steps.rank0.jsonl");
    for (std::string line; std::getline(in, line);) records.push_back(spec::parse_step_record(line));
    return records;
  }
  spec::RunSummary summary() const { return spec::parse_run_summary(read_whole_file(scratch_ / "result.json")); }

  std::vector<std::string> said_;
  const fs::path scratch_ = fs::path(testing::TempDir()) / ("emulated_gpus_test." + std::to_string(getpid()));
};

struct TwoGpus {
  const char* name;
  spec::MeshAxes axes;
};
class TwoEmulatedGpus : public EmulatedGpus, public testing::WithParamInterface<TwoGpus> {};

TEST_P(TwoEmulatedGpus, TrainAndEndAsOneRankOfTheCpu) {
  auto run = llama_tiny();
  run.threads_per_rank = 1;
  run.model.layers = 2;
  run.device_graphs = GetParam().axes.pp == 1;
  const auto expected = run_engine(PERFBENCH_ENGINE_FILE, run);
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(run.steps)) << testing::PrintToString(said_);
  fs::remove_all(scratch_);
  run.device = spec::Device::cuda;
  run.mesh.ici = GetParam().axes;
  const auto records = run_engine(PERFBENCH_EMULATED_ENGINE_FILE, run);
  ASSERT_EQ(records.size(), expected.size()) << testing::PrintToString(said_);
  EXPECT_EQ(summary().status, "ok") << testing::PrintToString(said_);
  EXPECT_EQ(summary().ranks.size(), 2U);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(records[i].loss, expected[i].loss, kSumsInOtherOrder * expected[i].loss) << i;
    EXPECT_NEAR(records[i].grad_norm, expected[i].grad_norm, kSumsInOtherOrder * expected[i].grad_norm) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Along, TwoEmulatedGpus,
                         testing::Values(TwoGpus{"dp", {.dp = 2}}, TwoGpus{"fsdp", {.fsdp = 2}},
                                         TwoGpus{"tp", {.tp = 2}}, TwoGpus{"pp", {.pp = 2}}),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace perfbench::engine
