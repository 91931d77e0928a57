// The real engine with and without a profile, on a clock that counts its own work, so that equal steps take equally
// long. The statistics of both cover the same steps, without those that were traced.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/evidence/run_metrics.h"
#include "harness/execute/process.h"
#include "harness/matrix/model_catalog.h"
#include "tests/harness/example_run.h"
#include "tests/spec/step_record.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace {

std::vector<spec::StepRecord> steps_of(const std::filesystem::path& folder, const spec::RunSpec& run) {
  std::filesystem::create_directories(folder);
  write_text(folder / "run.json", spec::canonical_json(run));
  const auto end = run_process({.command = {std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench-engine-inject", "run",
                                            "--dir", folder.string(), "--inject", "work_clock:noise=0"}});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  std::ifstream lines(folder / "steps.rank0.jsonl");
  std::vector<spec::StepRecord> steps;
  for (std::string line; std::getline(lines, line);) steps.push_back(spec::parse_step_record(line));
  return steps;
}

double value_of(const std::vector<MetricValue>& metrics, const std::string& tag) {
  for (const auto& m : metrics) {
    if (m.metric == tag) return m.value;
  }
  ADD_FAILURE() << "no metric " << tag;
  return 0;
}

TEST(ProfiledRun, HasTheStatisticsOfARunWithoutAProfile) {
  ScratchFolder scratch;
  spec::RunSpec run;
  run.model = ModelCatalog(PERFBENCH_SOURCE_DIR).model("gpt-tiny", {}).model;
  run.seq_len = 16;
  run.global_batch = 2;
  run.steps = 12;
  run.threads_per_rank = 1;
  const auto plain = run_metrics(run, steps_of(scratch / "plain", run), std::nullopt);
  run.profile = {.first_step = 6, .steps = 3};
  const auto profiled = run_metrics(run, steps_of(scratch / "profiled", run), std::nullopt);
  EXPECT_EQ(value_of(plain, "steady_steps") - value_of(profiled, "steady_steps"), 3);
  for (const auto* metric : {"step_time_s", "step_time_mean_s", "warmup_steps", "forward_time_s", "backward_time_s",
                             "optimizer_time_s", "final_loss"}) {
    EXPECT_EQ(value_of(profiled, metric), value_of(plain, metric)) << metric;
  }
}

}  // namespace
}  // namespace perfbench::harness
