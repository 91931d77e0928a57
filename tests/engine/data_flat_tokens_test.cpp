#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/core/error.h"
#include "tests/datasets/dataset_folder.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"
#include "workloads/datasets/flat_tokens_writer.h"

namespace perfbench::engine {
namespace {

spec::RunSpec run_on(const spec::DatasetFolder& folder) {
  auto run = llama_tiny();
  run.data = {.kind = spec::DataKind::flat_tokens, .path = folder.path().string(), .split = "train", .seed = 3};
  return run;
}

struct Window {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
  bool operator<(const Window& other) const { return targets < other.targets; }
};

Window first_window(const spec::RunSpec& run, std::int64_t step) {
  Window window{.tokens = std::vector<std::int32_t>(static_cast<std::size_t>(run.microbatch() * run.seq_len))};
  window.targets = window.tokens;
  make_token_source(run)->read({.step = step}, window.tokens, window.targets);
  return window;
}

TEST(FlatTokensSource, TheFormatsExampleGivesTheFormatsInputsAndTargets) {
  const spec::DatasetFolder folder("source-example");
  write_example(folder);
  auto run = run_on(folder);
  run.seq_len = 8;
  run.global_batch = 1;
  for (const std::int64_t step : {0, 1, 7}) {  // the only window of every epoch
    const auto window = first_window(run, step);
    EXPECT_THAT(window.tokens, testing::ElementsAre(0, 1, 0, 3, 4, 0, 6, 7));
    EXPECT_THAT(window.targets, testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  }
}

TEST(FlatTokensSource, AnEpochHasEveryWholeWindowOnce) {
  const spec::DatasetFolder folder("source-epoch");
  write_example(folder);
  auto run = run_on(folder);
  run.seq_len = 3;  // 8 tokens: two windows, and two tokens left over
  run.global_batch = 1;
  for (const std::int64_t epoch : {0, 1, 2}) {
    const std::set<Window> both{first_window(run, 2 * epoch), first_window(run, 2 * epoch + 1)};
    ASSERT_EQ(both.size(), 2U);
    EXPECT_THAT(both.begin()->tokens, testing::ElementsAre(0, 1, 0));
    EXPECT_THAT(both.begin()->targets, testing::ElementsAre(1, 2, 3));
    EXPECT_THAT(both.rbegin()->tokens, testing::ElementsAre(0, 4, 0));
    EXPECT_THAT(both.rbegin()->targets, testing::ElementsAre(4, 5, 6));
  }
}

TEST(FlatTokensSource, DataThatDoesNotFitTheRunIsBadInput) {
  const spec::DatasetFolder folder("source-bad");
  write_example(folder);
  auto run = run_on(folder);
  run.model.vocab_size = 8;
  EXPECT_THROW(make_token_source(run), BadInput) << "token 8 is beyond a vocabulary of 8";
  run.model.vocab_size = 9;
  run.seq_len = 8;
  EXPECT_NO_THROW(make_token_source(run));
  run.seq_len = 9;
  EXPECT_THROW(make_token_source(run), BadInput) << "8 tokens are no window of 9";
  run.seq_len = 8;
  folder.text("train/encoded_tokens/1", "");
  EXPECT_THROW(first_window(run, 0), BadInput);
  std::filesystem::remove_all(folder.path());
  EXPECT_THROW(make_token_source(run), BadInput);
}

// The text is one repeated sentence. A model that learns from the data set approaches its entropy, 0; one that gets
// other data stays at log(vocab_size) = 5.5.
TEST(FlatTokensSource, LossFallsOnText) {
  const spec::DatasetFolder folder("source-text");
  {
    spec::FlatTokensWriter writer({.dataset = folder.path(), .max_token_id = 255});
    const std::string text = "You may copy and distribute verbatim copies. ";
    std::vector<std::int32_t> ids;
    while (ids.size() < 8192) ids.insert(ids.end(), text.begin(), text.end());
    writer.append(spec::Split::train, ids);
    writer.finish();
  }
  auto run = run_on(folder);
  run.model.vocab_size = 256;
  run.model.init_std = 0.02;
  run.steps = 60;
  const auto steps = TrainingRun(run).all_steps();
  EXPECT_NEAR(steps.front().loss, std::log(256.0), 0.1);
  EXPECT_LT(steps.back().loss, 0.5 * steps.front().loss);
}

}  // namespace
}  // namespace perfbench::engine
