// A training that resumes at a step, in another process and on another mesh, reads the data of that step.
#include <gtest/gtest.h>

#include <vector>

#include "engine/core/rng.h"
#include "tests/datasets/dataset_folder.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"
#include "workloads/datasets/flat_tokens_writer.h"

namespace perfbench::engine {
namespace {

// 13 documents, so that a step of eight rows ends in the middle of an epoch.
void write_resumed_documents(const spec::DatasetFolder& folder, spec::Prompts prompts) {
  spec::FlatTokensWriter writer({.dataset = folder.path(), .max_token_id = 90, .prompts = prompts});
  const RngStream draws(1, "documents");
  for (std::uint64_t i = 0; i < 13; ++i) {
    std::vector<std::int32_t> prompt(1 + draws.bits(3 * i) % 5, static_cast<std::int32_t>(1 + i));
    std::vector<std::int32_t> rest(3 + draws.bits(3 * i + 1) % 9, static_cast<std::int32_t>(40 + i));
    if (prompts == spec::Prompts::counted) {
      writer.append(spec::Split::train, prompt, rest);
    } else {
      prompt.insert(prompt.end(), rest.begin(), rest.end());
      writer.append(spec::Split::train, prompt);
    }
  }
  writer.finish();
}

// All rows of a step in order, with their counts.
struct Step {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
  std::vector<std::int32_t> first;
  bool operator==(const Step&) const = default;
};

Step read_step(TokenSource& source, const spec::RunSpec& run, std::int64_t step) {
  Step all;
  for (std::int64_t shard = 0; shard < run.mesh.data_shards(); ++shard) {
    for (std::int64_t microbatch = 0; microbatch < run.grad_accum; ++microbatch) {
      const BatchPlace place{.step = step, .microbatch = microbatch, .shard = shard};
      const auto length = static_cast<std::size_t>(run.microbatch() * run.seq_len);
      std::vector<std::int32_t> tokens(length), targets(length), first(length);
      source.read(place, tokens, targets);
      if (run.packs_documents()) source.read_document_starts(place, first);
      all.tokens.insert(all.tokens.end(), tokens.begin(), tokens.end());
      all.targets.insert(all.targets.end(), targets.begin(), targets.end());
      all.first.insert(all.first.end(), first.begin(), first.end());
    }
  }
  return all;
}

void expect_to_go_on_anywhere(spec::RunSpec run, const char* what) {
  run.seq_len = 8;
  run.global_batch = 8;
  const auto in_turn = make_token_source(run);
  std::vector<Step> steps;
  for (std::int64_t step = 0; step < 12; ++step) steps.push_back(read_step(*in_turn, run, step));
  EXPECT_NE(steps[0].tokens, steps[11].tokens) << what;
  for (const std::int64_t begin : {11, 4, 1}) {
    EXPECT_EQ(read_step(*make_token_source(run), run, begin), steps[static_cast<std::size_t>(begin)]) << what;
    auto elsewhere = run;
    elsewhere.mesh.ici = {.dp = 2};
    elsewhere.grad_accum = 2;
    EXPECT_EQ(read_step(*make_token_source(elsewhere), elsewhere, begin), steps[static_cast<std::size_t>(begin)])
        << what << " on another mesh";
  }
}

TEST(Resuming, SyntheticRowsContinueWhereTheyStopped) {
  expect_to_go_on_anywhere(gpt_tiny(), "tokens");
  auto run = gpt_tiny();
  run.task = spec::Task::sft;
  expect_to_go_on_anywhere(run, "documents");
  expect_to_go_on_anywhere(packed(gpt_tiny()), "packed documents");
}

TEST(Resuming, RowsOfADataSetContinueWhereTheyStopped) {
  for (const auto kind : {spec::DataKind::flat_tokens, spec::DataKind::instruction}) {
    const bool instruction = kind == spec::DataKind::instruction;
    const spec::DatasetFolder folder(instruction ? "resume-instruction" : "resume-flat");
    write_resumed_documents(folder, instruction ? spec::Prompts::counted : spec::Prompts::none);
    for (const auto packing : {spec::Packing::none, spec::Packing::documents}) {
      auto run = gpt_tiny();
      run.task = instruction ? spec::Task::sft : spec::Task::pretrain;
      run.data = {.kind = kind, .path = folder.path().string(), .split = "train", .seed = 3, .packing = packing};
      expect_to_go_on_anywhere(run, instruction ? "instruction" : "flat tokens");
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
