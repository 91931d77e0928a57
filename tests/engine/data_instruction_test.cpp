#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/core/error.h"
#include "engine/core/no_target.h"
#include "engine/core/rng.h"
#include "tests/datasets/dataset_folder.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"
#include "workloads/datasets/flat_tokens_writer.h"

namespace perfbench::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Example {
  std::vector<std::int32_t> prompt;
  std::vector<std::int32_t> completion;
};

void write_documents(const spec::DatasetFolder& folder, const std::vector<Example>& documents) {
  std::filesystem::remove_all(folder.path());
  spec::FlatTokensWriter writer({.dataset = folder.path(), .max_token_id = 50, .prompts = spec::Prompts::counted});
  for (const auto& d : documents) writer.append(spec::Split::train, d.prompt, d.completion);
  writer.finish();
}

spec::RunSpec tuned_on(const spec::DatasetFolder& folder) {
  auto run = gpt_tiny();
  run.task = spec::Task::sft;
  run.data = {.kind = spec::DataKind::instruction, .path = folder.path().string(), .split = "train", .seed = 3};
  run.global_batch = 1;
  run.seq_len = 5;
  return run;
}

struct Row {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
  TokenCounts counts;
};

Row row_of(const spec::RunSpec& run, const BatchPlace& place) {
  const auto length = static_cast<std::size_t>(run.microbatch() * run.seq_len);
  Row row{std::vector<std::int32_t>(length, 77), std::vector<std::int32_t>(length, 77), {}};
  row.counts = make_token_source(run)->read(place, row.tokens, row.targets);
  return row;
}

std::string refusal(const spec::RunSpec& run) {
  try {
    make_token_source(run);
  } catch (const BadInput& e) {
    return e.what();
  }
  return "no error";
}

// The last token of the prompt predicts the first of the completion, and the last but one of the completion predicts
// the last.
TEST(InstructionSource, OnlyTheCompletionIsATarget) {
  const spec::DatasetFolder folder("instruction-row");
  const auto row = [&](const Example& document) {
    write_documents(folder, {document});
    return row_of(tuned_on(folder), {});
  };
  const auto padded = row({{11, 12}, {13, 14}});
  EXPECT_THAT(padded.tokens, ElementsAre(11, 12, 13, 14, 0));
  EXPECT_THAT(padded.targets, ElementsAre(kNoTarget, 13, 14, kNoTarget, kNoTarget));
  EXPECT_EQ(padded.counts.targets, 2);
  EXPECT_EQ(padded.counts.padding, 1);
  const auto exact = row({{11}, {12, 13, 14, 15, 16}});
  EXPECT_THAT(exact.tokens, ElementsAre(11, 12, 13, 14, 15));
  EXPECT_THAT(exact.targets, ElementsAre(12, 13, 14, 15, 16));
  EXPECT_EQ(exact.counts.targets, 5);
  EXPECT_EQ(exact.counts.padding, 0);
  const auto cut = row({{11, 12, 13, 14}, {15, 16, 17, 18}});
  EXPECT_THAT(cut.tokens, ElementsAre(11, 12, 13, 14, 15));
  EXPECT_THAT(cut.targets, ElementsAre(kNoTarget, kNoTarget, kNoTarget, 15, 16));
  const auto prompt_alone = row({{11, 12, 13, 14, 15, 16, 17}, {18}});
  EXPECT_THAT(prompt_alone.tokens, ElementsAre(11, 12, 13, 14, 15));
  EXPECT_THAT(prompt_alone.targets, testing::Each(kNoTarget));
  EXPECT_EQ(prompt_alone.counts.targets, 0);
  EXPECT_EQ(prompt_alone.counts.padding, 0);
}

TEST(InstructionSource, AnEpochHasEveryDocumentOnceOnAnyMesh) {
  const spec::DatasetFolder folder("instruction-epoch");
  std::vector<Example> documents;
  for (std::int32_t i = 1; i <= 12; ++i) documents.push_back({{i}, {i}});
  write_documents(folder, documents);
  auto run = tuned_on(folder);
  run.mesh.ici.dp = 2;
  run.grad_accum = 3;
  run.global_batch = 12;
  std::vector<std::vector<std::int32_t>> epochs;
  for (const std::int64_t step : {0, 1}) {
    std::vector<std::int32_t> first_tokens;
    for (const std::int64_t shard : {0, 1}) {
      for (const std::int64_t microbatch : {0, 1, 2}) {
        const auto rows = row_of(run, {.step = step, .microbatch = microbatch, .shard = shard});
        for (std::size_t at = 0; at < rows.tokens.size(); at += 5) first_tokens.push_back(rows.tokens[at]);
        EXPECT_EQ(rows.tokens, row_of(run, {.step = step, .microbatch = microbatch, .shard = shard}).tokens);
      }
    }
    EXPECT_EQ(std::set<std::int32_t>(first_tokens.begin(), first_tokens.end()).size(), 12U);
    epochs.push_back(first_tokens);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  // One rank reads the same rows in the same order.
  run.mesh = {};
  run.grad_accum = 1;
  const auto whole = row_of(run, {.step = 1});
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(whole.tokens[5 * i], epochs[1][i]);
}

TEST(InstructionSource, DataThatDoesNotFitTheRunIsBadInput) {
  const spec::DatasetFolder folder("instruction-refused");
  write_documents(folder, {{{1}, {2}}, {{3, 4}, {50, 6}}});
  auto run = tuned_on(folder);
  run.model.vocab_size = 51;
  EXPECT_EQ(refusal(run), "no error");
  run.model.vocab_size = 50;
  EXPECT_THAT(refusal(run), HasSubstr("/train: document 1 has token 50, but the vocabulary of gpt-tiny has 50 tokens"));
  run.data.split = "validation";
  EXPECT_THAT(refusal(run), HasSubstr("/validation: has no document"));
  run.data.path += "-absent";
  EXPECT_THAT(refusal(run), HasSubstr("-absent"));
}

// Tokens of prompts are random, those of completions always the same. A model trained only on completions knows them
// after 60 steps; one that must predict prompts too stays above their entropy, log(40) = 3.7 for 8 of 10 tokens.
TEST(InstructionSource, LossFallsToThatOfCompletions) {
  const spec::DatasetFolder folder("instruction-learn");
  const RngStream draws(1, "prompts");
  std::vector<Example> documents;
  for (std::uint64_t d = 0; d < 64; ++d) {
    Example document{{}, {41, 42}};
    for (std::uint64_t i = 0; i < 8; ++i)
      document.prompt.push_back(static_cast<std::int32_t>(draws.bits(8 * d + i) % 40));
    documents.push_back(document);
  }
  write_documents(folder, documents);
  auto run = tuned_on(folder);
  run.global_batch = 8;
  run.seq_len = 12;
  run.model.init_std = 0.02;
  run.steps = 60;
  const auto steps = TrainingRun(run).all_steps();
  EXPECT_NEAR(steps.front().loss, std::log(97.0), 0.2);
  EXPECT_LT(steps.back().loss, 0.5);
  EXPECT_EQ(steps.back().loss_tokens, 8 * 2);
  EXPECT_EQ(steps.back().padding_tokens, 8 * 2);
}

}  // namespace
}  // namespace perfbench::engine
