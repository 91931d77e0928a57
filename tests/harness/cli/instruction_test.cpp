// Fine-tuning from a file of tokens to the losses of a run, with the built perfbench and the real engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "harness/execute/process.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

class InstructionRun : public testing::Test {
 protected:
  // In a separate folder below the scratch folder.
  ProcessEnd perfbench(const std::string& folder, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    return run_process({.command = arguments,
                        .working_dir = scratch_ / folder,
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}}});
  }

  // The losses of six steps on these lines, in batches that contain all of them.
  std::vector<double> losses(const std::string& folder, const std::vector<std::string>& lines,
                             const std::string& task = "task: sft") const {
    std::filesystem::create_directory(scratch_ / folder);
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    write_text(scratch_ / (folder + "/lines.jsonl"), text);
    const auto prepared = perfbench(
        folder, {"data", "prepare", "--format", "jsonl", "--validation-fraction", "0", "--out", "set", "lines.jsonl"});
    EXPECT_EQ(prepared.exit_code, 0) << prepared.error_output;
    EXPECT_THAT(prepared.output, HasSubstr("task sft, data.kind instruction"));
    write_text(scratch_ / (folder + "/tuned.yaml"),
               "name: tuned\n"
               "defaults: {model: gpt-tiny, " +
                   task +
                   ", data: {kind: instruction, path: set}, seq_len: 8, global_batch: " + std::to_string(lines.size()) +
                   ",\n"
                   "           steps: 6, threads_per_rank: 1, optimizer: {learning_rate: 0.01, warmup_steps: 0}}\n");
    const auto sweep = perfbench(folder, {"sweep", "tuned.yaml", "--db", "t.db"});
    EXPECT_EQ(sweep.exit_code, 0) << sweep.output << sweep.error_output;
    return recorded_losses(scratch_ / folder);
  }

  ScratchFolder scratch_;

 private:
  static std::vector<double> recorded_losses(const std::filesystem::path& folder) {
    std::vector<double> losses;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().filename() != "steps.rank0.jsonl") continue;
      std::istringstream lines(read_text(entry.path()));
      for (std::string line; std::getline(lines, line);) {
        losses.push_back(nlohmann::json::parse(line).at("loss").get<double>());
      }
    }
    return losses;
  }
};

// Only the prompt of the last line fits into a row. It is in the batch of every step but does not affect any loss: the
// mean is over the targets of the other lines.
TEST_F(InstructionRun, TrainsOnCompletionsAndNotOnPrompts) {
  const std::string first = R"({"prompt": [5, 6, 7], "completion": [8, 9]})";
  const std::string second = R"({"prompt": [5], "completion": [8, 9, 10, 11, 12, 13, 14, 15]})";
  const auto usual = losses("usual", {first, second, R"({"prompt": [1, 2, 3, 4, 5, 6, 7, 8, 9], "completion": [3]})"});
  ASSERT_EQ(usual.size(), 6U);
  for (std::size_t i = 1; i < usual.size(); ++i) EXPECT_LT(usual[i], usual[i - 1]);
  const auto other_prompt =
      losses("prompt", {first, second, R"({"prompt": [9, 9, 9, 9, 90, 91, 92, 93, 94], "completion": [3]})"});
  EXPECT_EQ(other_prompt, usual);
  // The last token of the second line is a target but not an input.
  const auto other_target = losses("target", {first, R"({"prompt": [5], "completion": [8, 9, 10, 11, 12, 13, 14, 16]})",
                                              R"({"prompt": [1, 2, 3, 4, 5, 6, 7, 8, 9], "completion": [3]})"});
  EXPECT_NE(other_target, usual);
}

// On the same documents, beginning with the same loss, because adapters add nothing at first.
TEST_F(InstructionRun, AdaptersTrainOnCompletionsToo) {
  const std::vector<std::string> lines{R"({"prompt": [5, 6, 7], "completion": [8, 9]})",
                                       R"({"prompt": [5], "completion": [8, 9, 10, 11, 12, 13, 14, 15]})"};
  const auto all_weights = losses("weights", lines);
  const auto adapters = losses("adapters", lines, "task: lora, lora: {rank: 4, targets: attention}");
  ASSERT_EQ(adapters.size(), 6U);
  EXPECT_EQ(adapters[0], all_weights[0]);
  for (std::size_t i = 1; i < adapters.size(); ++i) EXPECT_LT(adapters[i], adapters[i - 1]);
  EXPECT_NE(adapters[5], all_weights[5]);
}

TEST_F(InstructionRun, NeedsDataThatHasPrompts) {
  std::filesystem::create_directory(scratch_ / "refused");
  write_text(scratch_ / "refused/a.yaml",
             "name: a\ndefaults: {model: gpt-tiny, seq_len: 8, global_batch: 2, steps: 2, task: sft, data: {kind: "
             "flat_tokens, path: .}}\n");
  const auto plan = perfbench("refused", {"plan", "a.yaml"});
  EXPECT_THAT(plan.output + plan.error_output,
              HasSubstr("task: sft needs data that has prompts, found data.kind: flat_tokens"));
}

}  // namespace
}  // namespace perfbench::harness
