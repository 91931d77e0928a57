// Evaluation from the files of the data sets to the columns of a report, with the built perfbench and the real engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/execute/process.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class EvaluationRun : public testing::Test {
 protected:
  ProcessEnd perfbench(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    return run_process({.command = arguments,
                        .working_dir = scratch_.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}}});
  }

  void prepare(const std::string& format, const std::string& lines) const {
    write_text(scratch_ / (format + ".jsonl"), lines);
    const auto end = perfbench({"data", "prepare", "--format", format, "--out", format, format + ".jsonl"});
    ASSERT_EQ(end.exit_code, 0) << end.error_output;
    EXPECT_THAT(end.output, HasSubstr("task eval, data.kind instruction, data.split validation"));
  }

  // A model trained on these lines knows the answers to kTrainingWords.
  void prepare_lines_to_learn() const {
    std::string lines;
    for (const auto* line :
         {R"({"prompt": "a cat is an", "completion": " animal"})", R"({"prompt": "ice is", "completion": " cold"})",
          R"({"prompt": "fire is hot and ice is", "completion": " not"})"}) {
      lines += std::string(line) + "\n";
    }
    write_text(scratch_ / "train.jsonl", lines);
    const auto end = perfbench(
        {"data", "prepare", "--format", "jsonl", "--validation-fraction", "0", "--out", "train", "train.jsonl"});
    ASSERT_EQ(end.exit_code, 0) << end.error_output;
  }

  // The results of a sweep, by the path of the evaluated data set.
  std::map<std::string, json> results(const char* field) const {
    std::map<std::string, json> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch_.path())) {
      if (entry.path().filename() != "result.json") continue;
      const auto run = json::parse(read_text(entry.path().parent_path() / "run.json"));
      const std::filesystem::path evaluated = run.at(field).at("path").get<std::string>();
      out[evaluated.filename().string()] = json::parse(read_text(entry.path()));
      out[evaluated.filename().string()]["steps_wanted"] = run.at("steps");
    }
    return out;
  }

  ScratchFolder scratch_;
};

constexpr const char* kTrainingWords =
    "{\"text\": \"a cat is an animal\"}\n{\"text\": \"ice is cold\"}\n{\"text\": \"fire is hot and ice is not\"}\n";
constexpr const char* kQuestions =
    "{\"passage\": \"Ice is cold.\", \"question\": \"is ice warm\", \"answer\": false}\n"
    "{\"passage\": \"Ice is cold.\", \"question\": \"is ice cold\", \"answer\": true}\n";

// Two rows a step, whatever the matrix says about steps. An untrained model prefers " no", the shorter answer.
TEST_F(EvaluationRun, AnswersTheQuestionsOfItsDataSets) {
  prepare("lambada", kTrainingWords);
  prepare("boolq", kQuestions);
  write_text(scratch_ / "e.yaml",
             "name: e\n"
             "defaults: {model: gpt-mini, task: eval, seq_len: 48, global_batch: 2, steps: 7, threads_per_rank: 1,\n"
             "           data: {kind: instruction, split: validation}}\n"
             "axes:\n  data.path: [lambada, boolq]\n");
  const auto sweep = perfbench({"sweep", "e.yaml", "--db", "e.db"});
  ASSERT_EQ(sweep.exit_code, 0) << sweep.output << sweep.error_output;
  const auto found = results("data");
  ASSERT_EQ(found.size(), 2U);
  const auto words = found.at("lambada").at("evaluation");
  EXPECT_EQ(found.at("lambada").at("steps_wanted"), 2);
  EXPECT_EQ(found.at("lambada").at("peak").at("gradients_bytes"), 0);
  EXPECT_EQ(words.at("rows"), 3);
  EXPECT_EQ(words.at("tokens"), 7 + 5 + 4) << "\" animal\", \" cold\", \" not\"";
  EXPECT_EQ(words.at("accuracy"), 0.0);
  // Close to that of guessing: the size of the vocabulary.
  EXPECT_NEAR(std::log(words.at("perplexity").get<double>()), std::log(2048.0), 1.0);
  const auto answers = found.at("boolq").at("evaluation");
  EXPECT_EQ(answers.at("rows"), 4);
  EXPECT_EQ(answers.at("questions"), 2);
  EXPECT_EQ(answers.at("tokens"), 3 + 4);
  EXPECT_EQ(answers.at("accuracy"), 0.5);
  const auto report = perfbench({"report", "--db", "e.db", "--format", "csv"});
  EXPECT_EQ(report.exit_code, 0) << report.error_output;
  EXPECT_THAT(report.output, HasSubstr("eval_accuracy,eval_perplexity"));
  EXPECT_THAT(report.output, HasSubstr("evaluation: accuracy 50.0 %, perplexity "));
}

// A model trained on the questions knows the answers, and the evaluation is not in the time of any step.
TEST_F(EvaluationRun, AfterTrainingMeasuresTheTrainedModel) {
  prepare("lambada", kTrainingWords);
  prepare_lines_to_learn();
  write_text(scratch_ / "t.yaml",
             "name: t\n"
             "defaults: {model: gpt-mini, task: sft, seq_len: 32, global_batch: 3, steps: 60, threads_per_rank: 1,\n"
             "           data: {kind: instruction, path: train}, evaluation: {path: lambada},\n"
             "           optimizer: {learning_rate: 0.005, warmup_steps: 0}}\n");
  const auto sweep = perfbench({"sweep", "t.yaml", "--db", "t.db"});
  ASSERT_EQ(sweep.exit_code, 0) << sweep.output << sweep.error_output;
  const auto result = results("evaluation").at("lambada");
  EXPECT_EQ(result.at("steps"), 60);
  EXPECT_EQ(result.at("evaluation").at("rows"), 3);
  EXPECT_EQ(result.at("evaluation").at("accuracy"), 1.0);
  EXPECT_LT(result.at("evaluation").at("perplexity").get<double>(), 1.5);
}

// The trainings are the same bit for bit; one run has the result in its adapters, the other one in its weights.
TEST_F(EvaluationRun, MergedAdaptersGiveTheSameAnswersAsAdapters) {
  prepare("lambada", kTrainingWords);
  prepare_lines_to_learn();
  write_text(scratch_ / "m.yaml",
             "name: m\n"
             "defaults: {model: gpt-mini, task: lora, lora: {rank: 16}, seq_len: 32, global_batch: 3, steps: 60,\n"
             "           threads_per_rank: 1, data: {kind: instruction, path: train}, evaluation: {path: lambada},\n"
             "           optimizer: {learning_rate: 0.02, warmup_steps: 0}}\n"
             "axes: {lora.merge: [false, true]}\n");
  const auto sweep = perfbench({"sweep", "m.yaml", "--db", "m.db"});
  ASSERT_EQ(sweep.exit_code, 0) << sweep.output << sweep.error_output;
  std::map<bool, json> evaluations;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch_.path())) {
    if (entry.path().filename() != "result.json") continue;
    const auto run = json::parse(read_text(entry.path().parent_path() / "run.json"));
    evaluations[run.at("lora").value("merge", false)] = json::parse(read_text(entry.path())).at("evaluation");
  }
  ASSERT_EQ(evaluations.size(), 2U);
  const double beside = evaluations[false].at("perplexity").get<double>();
  EXPECT_LT(beside, 1000.0) << "what has learnt nothing guesses among 2048";
  EXPECT_NEAR(evaluations[true].at("perplexity").get<double>(), beside, 1e-3 * beside);
  EXPECT_EQ(evaluations[true].at("accuracy"), evaluations[false].at("accuracy"));
}

TEST_F(EvaluationRun, WithoutADataSetThereIsNothingToRun) {
  write_text(scratch_ / "a.yaml",
             "name: a\ndefaults: {model: gpt-mini, seq_len: 8, global_batch: 2, task: eval,\n"
             "           data: {kind: instruction, path: nowhere}}\n");
  const auto plan = perfbench({"plan", "a.yaml"});
  EXPECT_THAT(plan.output + plan.error_output, HasSubstr("a.yaml:3:"));
  EXPECT_THAT(plan.output + plan.error_output, HasSubstr("nowhere/.zgroup: No such file"));
  prepare("lambada", kTrainingWords);
  write_text(scratch_ / "b.yaml",
             "name: b\ndefaults: {model: gpt-mini, seq_len: 48, global_batch: 2, task: eval,\n"
             "           data: {kind: instruction, path: lambada, split: train}}\n");
  const auto empty = perfbench({"plan", "b.yaml"});
  EXPECT_THAT(empty.output + empty.error_output, HasSubstr("lambada/train has no row"));
}

}  // namespace
}  // namespace perfbench::harness
