#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/error.h"
#include "engine/core/no_target.h"
#include "engine/data/run_data.h"
#include "tests/datasets/dataset_folder.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"
#include "workloads/datasets/flat_tokens_writer.h"

namespace perfbench::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kMostId = 50;

// Documents with prompts of one to three tokens; each completion is the document's number and 9.
void write_rows(const spec::DatasetFolder& folder, std::int32_t rows) {
  std::filesystem::remove_all(folder.path());
  spec::FlatTokensWriter writer({.dataset = folder.path(), .max_token_id = kMostId, .prompts = spec::Prompts::counted});
  for (std::int32_t row = 0; row < rows; ++row) {
    writer.append(spec::Split::validation, Ids(static_cast<std::size_t>(1 + row % 3), 20 + row), Ids{row, 9});
  }
  writer.finish();
}

spec::RunSpec evaluated_on(const spec::DatasetFolder& folder) {
  auto run = gpt_tiny();
  run.task = spec::Task::eval;
  run.data = {.kind = spec::DataKind::instruction, .path = folder.path().string(), .split = "validation"};
  run.global_batch = 4;
  run.seq_len = 5;
  run.steps = 1;
  return run;
}

struct Batch {
  Ids tokens, targets;
  TokenCounts counts;
};

Batch batch_of(const spec::RunSpec& run, const BatchPlace& place) {
  const auto length = static_cast<std::size_t>(run.microbatch() * run.seq_len);
  Batch out{Ids(length, 77), Ids(length, 77), {}};
  out.counts = make_evaluation_source(run, run.data.path, run.data.split)->read(place, out.tokens, out.targets);
  return out;
}

std::string refusal_of(const spec::RunSpec& run) {
  try {
    make_run_data(run);
  } catch (const BadInput& e) {
    return e.what();
  }
  return "no error";
}

constexpr std::int32_t kNone = kNoTarget;

TEST(EvaluationRows, ComeInTheirOrderOnceAndThenNothing) {
  const spec::DatasetFolder folder("evaluation-rows");
  write_rows(folder, 6);
  auto run = evaluated_on(folder);
  run.grad_accum = 2;
  const auto second = batch_of(run, {.step = 0, .microbatch = 1});
  EXPECT_THAT(second.tokens, ElementsAre(22, 22, 22, 2, 9, 23, 3, 9, 0, 0));
  EXPECT_THAT(second.targets, ElementsAre(kNone, kNone, 2, 9, kNone, 3, 9, kNone, kNone, kNone));
  EXPECT_EQ(second.counts.targets, 4);
  EXPECT_EQ(second.counts.padding, 2);
  // With two shards, the first has the last two rows, the second none.
  run.mesh.ici.dp = 2;
  const auto last = batch_of(run, {.step = 1, .microbatch = 1, .shard = 0});
  EXPECT_THAT(last.tokens, ElementsAre(25, 25, 25, 5, 9));
  const auto none = batch_of(run, {.step = 1, .microbatch = 0, .shard = 1});
  EXPECT_THAT(none.tokens, testing::Each(0));
  EXPECT_THAT(none.targets, testing::Each(kNone));
  EXPECT_EQ(none.counts.targets, 0);
  EXPECT_EQ(none.counts.padding, 5);
}

// A row has as many inputs as the run's sequences, and a target behind the last.
TEST(EvaluationRows, LoseTheBeginningOfTheirPromptIfTheyAreTooLong) {
  const spec::DatasetFolder folder("evaluation-long");
  std::filesystem::remove_all(folder.path());
  spec::FlatTokensWriter writer({.dataset = folder.path(), .max_token_id = kMostId, .prompts = spec::Prompts::counted});
  writer.append(spec::Split::validation, Ids{1, 2, 3, 4, 5, 6}, Ids{7, 8});
  writer.finish();
  auto run = evaluated_on(folder);
  run.global_batch = 1;
  EXPECT_THAT(batch_of(run, {}).tokens, ElementsAre(3, 4, 5, 6, 7));
  EXPECT_THAT(batch_of(run, {}).targets, ElementsAre(kNone, kNone, kNone, 7, 8));
  run.seq_len = 2;
  EXPECT_THAT(batch_of(run, {}).tokens, ElementsAre(6, 7));
  run.seq_len = 1;
  EXPECT_THAT(refusal_of(run), HasSubstr("document 0 has a completion of 2 tokens"));
  EXPECT_THAT(refusal_of(run), HasSubstr("use a seq_len of at least 2"));
}

TEST(EvaluationRows, SayWhichQuestionTheyMayAnswer) {
  const spec::DatasetFolder folder("evaluation-questions");
  std::filesystem::remove_all(folder.path());
  spec::FlatTokensWriter writer(
      {.dataset = folder.path(), .max_token_id = kMostId, .prompts = spec::Prompts::of_questions});
  writer.append_question(spec::Split::validation, Ids{1, 2}, std::vector{Ids{3}, Ids{4, 5}}, 1);
  writer.append_question(spec::Split::validation, Ids{6}, std::vector{Ids{7}, Ids{8}}, 0);
  writer.finish();
  const auto run = evaluated_on(folder);
  const auto source = make_run_data(run).evaluation;
  ASSERT_EQ(source->rows(), 4);
  EXPECT_EQ(source->candidate(1)->question, 0);
  EXPECT_TRUE(source->candidate(1)->right);
  EXPECT_EQ(source->candidate(3)->question, 1);
  EXPECT_FALSE(source->candidate(3)->right);
  write_rows(folder, 4);
  EXPECT_FALSE(make_run_data(run).evaluation->candidate(0));
}

TEST(EvaluationRows, DataThatDoesNotFitTheRunIsBadInput) {
  const spec::DatasetFolder folder("evaluation-bad");
  write_rows(folder, 6);
  auto run = evaluated_on(folder);
  EXPECT_THAT(refusal_of(run), HasSubstr("has 6 rows, which are 2 steps of 4; the run has steps 1"));
  run.steps = 2;
  EXPECT_EQ(refusal_of(run), "no error");
  run.model.vocab_size = kMostId;
  EXPECT_THAT(refusal_of(run), HasSubstr("set model.vocab_size to at least 51"));
  run.data.split = "train";
  EXPECT_THAT(refusal_of(run), HasSubstr("has no document"));
}

// An untrained model with a tied embedding predicts the token that it has just read.
TEST(EvaluationRows, AreScoredByARun) {
  if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  const spec::DatasetFolder folder("evaluation-run");
  std::filesystem::remove_all(folder.path());
  spec::FlatTokensWriter writer(
      {.dataset = folder.path(), .max_token_id = kMostId, .prompts = spec::Prompts::of_questions});
  for (std::int32_t i = 0; i < 3; ++i) {
    writer.append_question(spec::Split::validation, Ids{40, 30 + i}, std::vector{Ids{10 + i}, Ids{30 + i}}, 1);
  }
  writer.append_question(spec::Split::validation, Ids{40, 33}, std::vector{Ids{33}, Ids{11}}, 1);
  writer.finish();
  auto run = evaluated_on(folder);
  run.model.init_std = 0.002;  // almost only the lookup reaches the head
  run.steps = 2;
  TrainingRun training(run);
  training.all_steps();
  const auto result = training.trainer().evaluator()->result();
  EXPECT_EQ(result.rows, 8);
  EXPECT_EQ(result.questions, 4);
  EXPECT_EQ(result.tokens, 4);
  EXPECT_EQ(result.accuracy, 0.75);
}

}  // namespace
}  // namespace perfbench::engine
