// For every metric that can turn a verdict red: a fault in the real engine that makes it worse must do so, and the
// removal of the fault, an improvement, must not. Uses the built perfbench and real processes. The faults are large
// (that of a pipeline's few messages takes several time slices of the scheduler), so that the load of a test machine
// does not matter: spoiled pairs are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "harness/execute/process.h"
#include "tests/harness/example_run.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

struct Mutation {
  const char* fault;
  std::vector<std::string> metrics;
  const char* settings;  // of the matrix, in addition to those of all
  const char* model = "gpt-mini";
  int steps = 12;
};
// The name of the test in lists and logs.
void PrintTo(const Mutation& mutation, std::ostream* out) {
  *out << mutation.fault << mutation.settings;
}

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> all{
      {"slow:span=ops,fraction=2",
       {"step_time_s", "step_time_mean_s", "tokens_per_s", "tokens_per_s_per_device", "sequences_per_s",
        "forward_time_s", "backward_time_s", "optimizer_time_s"},
       ""},
      {"slow:span=ops,fraction=2", {"step_time_p10_s", "step_time_p90_s"}, "", "gpt-tiny", 80},
      {"slow:span=ops,fraction=2", {"real_tokens_per_s"}, ", task: sft"},
      {"slow:span=data,us=5000", {"data_time_s"}, ""},
      {"slow:span=step,us=5000", {"other_time_s"}, ""},
      {"slow:span=all_gather,us=5000", {"exposed_comm_time_s"}, ", fsdp: 2"},
      {"slow:span=receive,us=20000", {"bubble_time_s", "bubble_fraction"}, ", pp: 2, grad_accum: 2"},
      {"allocate:mib=256", {"peak_memory_bytes", "resident_bytes"}, ""},
      {"startup:ms=500", {"startup_time_s"}, ""},
      {"wrong_gradient", {"final_loss"}, ", optimizer: {learning_rate: 0.002}"},
      {"crowded_expert", {"dropped_fraction", "expert_load"}, "", "gshard-tiny"},
      {"wrong_score",
       {"eval_accuracy", "eval_perplexity"},
       ", task: eval, data: {kind: instruction, path: set, split: validation}"}};
  return all;
}

// An untrained model chooses the shorter answer, "no", which is right for two thirds.
constexpr const char* kQuestions =
    "{\"passage\": \"A cat is an animal.\", \"question\": \"is a cat a plant\", \"answer\": false}\n"
    "{\"passage\": \"Ice is cold.\", \"question\": \"is ice warm\", \"answer\": false}\n"
    "{\"passage\": \"Ice is cold.\", \"question\": \"is ice cold\", \"answer\": true}\n";

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ",") + word;
  return out;
}

class EngineMutation : public testing::TestWithParam<Mutation> {
 protected:
  void SetUp() override {
    if (std::string(GetParam().settings).find("path: set") == std::string::npos) return;
    write_text(scratch_ / "questions.jsonl", kQuestions);
    const auto end = run_process({.command = {std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "data", "prepare",
                                              "--format", "boolq", "--out", "set", "questions.jsonl"},
                                  .working_dir = scratch_.path(),
                                  .environment = {}});
    ASSERT_EQ(end.exit_code, 0) << end.error_output;
  }

  ProcessEnd compare(const std::string& a, const std::string& b, const std::string& pairs = "8") {
    write_text(scratch_ / "m.yaml",
               std::string("name: m\ndefaults: {seq_len: 32, global_batch: 4, threads_per_rank: 1, steps: ") +
                   std::to_string(GetParam().steps) + ", model: " + GetParam().model + GetParam().settings +
                   "}\naxes:\n  attention: [flash]\n");
    std::vector<std::string> command{std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench",
                                     "compare",
                                     "--ab",
                                     a,
                                     b,
                                     "m.yaml",
                                     "--pairs",
                                     pairs,
                                     "--metrics",
                                     joined(GetParam().metrics)};
    for (const auto* option : {"--most-foreign", "--most-steal", "--most-probe-spread", "--most-probe-shift"}) {
      command.insert(command.end(), {option, "1000"});
    }
    return run_process({.command = command,
                        .working_dir = scratch_.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}}});
  }

  ScratchFolder scratch_;
};

TEST_P(EngineMutation, WorseIsRedAndBetterIsNot) {
  const auto fault = std::string("inject:") + GetParam().fault;
  const auto worse = compare("current", fault);
  EXPECT_EQ(worse.exit_code, 1) << worse.output << worse.error_output;
  for (const auto& metric : GetParam().metrics)
    EXPECT_THAT(worse.output, testing::ContainsRegex("[|] " + metric + " *[|] REGRESSED *[|]"));
  // On a busy machine, so few pairs may not be enough to decide whether it is an improvement.
  const auto better = compare(fault, "current", "4");
  EXPECT_NE(better.exit_code, 1) << better.output << better.error_output;
  EXPECT_THAT(better.output, testing::Not(testing::HasSubstr("REGRESSED")));
  for (const auto& metric : GetParam().metrics) {
    EXPECT_THAT(better.output, testing::ContainsRegex("[|] " + metric + " *[|] (IMPROVED|INCONCLUSIVE) *[|]"));
  }
}

INSTANTIATE_TEST_SUITE_P(Each, EngineMutation, testing::ValuesIn(mutations()));

// By the engine, which alone knows its faults.
TEST(Mutations, AnUnknownFaultIsRefusedBeforeAnythingRuns) {
  const ScratchFolder scratch;
  write_text(scratch / "m.yaml", "name: m\ndefaults: {model: gpt-mini, seq_len: 32, global_batch: 4}\n");
  const auto refused = [&](std::vector<std::string> command, const std::string& reason) {
    command.insert(command.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    const auto end = run_process({.command = command,
                                  .working_dir = scratch.path(),
                                  .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}}});
    EXPECT_EQ(end.exit_code, 3) << end.output;
    EXPECT_THAT(end.error_output, HasSubstr(reason));
    EXPECT_FALSE(std::filesystem::exists(scratch / "perf.runs"));
  };
  refused({"compare", "--ab", "current", "inject:nope", "m.yaml"}, "unknown fault 'nope'");
  refused({"compare", "--ab", "inject:slow:span=matmul,us=nan", "current", "m.yaml"}, "us is 'nan'");
  refused({"selftest", "--real", "1", "m.yaml", "--inject", "nope"}, "unknown fault 'nope'");
  refused({"nightly", "m.yaml", "--history-from", "simulated", "--plant", "nope"}, "unknown fault 'nope'");
}

TEST(Mutations, CoverEveryMetricThatHasADirection) {
  // Metrics without a fault: those that are computed from the step time where they are shown; the power of GPUs; the
  // loss of one step; facts about the noise of a run; the cost of checkpoint files, which is between steps, where no
  // fault acts; and the metrics of training programs that are not perfbench-engine.
  const std::vector<std::string_view> others{
      "mfu_fraction",          "hfu_fraction",   "estimated_days",     "loss",
      "probe_spread_fraction", "still_changing", "checkpoint_stall_s", "checkpoint_save_time_s",
      "checkpoint_bytes",      "restore_time_s", "wall_time_s",        "printed_loss",
      "energy_per_token_j"};
  for (const auto& metric : spec::kMetricCatalog) {
    if (metric.direction == spec::Direction::neutral) continue;
    if (std::find(others.begin(), others.end(), metric.tag) != others.end()) continue;
    const bool covered = std::any_of(mutations().begin(), mutations().end(), [&](const Mutation& mutation) {
      return std::find(mutation.metrics.begin(), mutation.metrics.end(), metric.tag) != mutation.metrics.end();
    });
    EXPECT_TRUE(covered) << metric.tag << ": no fault makes it worse";
  }
}

}  // namespace
}  // namespace perfbench::harness
