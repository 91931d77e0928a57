#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/core/no_target.h"
#include "engine/data/run_data.h"
#include "engine/data/synthetic_documents.h"
#include "tests/engine/example_runs.h"

namespace perfbench::engine {
namespace {

spec::RunSpec tuned() {
  auto run = gpt_tiny();
  run.task = spec::Task::sft;
  return run;
}

struct Rows {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
  TokenCounts counts;
};
Rows rows_at(TokenSource& source, const spec::RunSpec& run, const BatchPlace& place) {
  Rows batch;
  batch.tokens.resize(static_cast<std::size_t>(run.microbatch() * run.seq_len));
  batch.targets.resize(batch.tokens.size());
  batch.counts = source.read(place, batch.tokens, batch.targets);
  return batch;
}

TEST(SyntheticDocuments, AreSyntheticTokensWithTargetsInTheirCompletions) {
  const auto run = tuned();
  const auto plain = rows_at(*make_synthetic_tokens(run), run, {.step = 2});
  const auto batch = rows_at(*make_token_source(run), run, {.step = 2});
  const auto document = drawn_documents(run);
  TokenCounts counts;
  for (std::int64_t b = 0; b < run.microbatch(); ++b) {
    const auto [prompt, tokens] = document(2 * run.global_batch + b);
    EXPECT_GE(prompt, 1);
    EXPECT_GT(tokens, prompt);
    EXPECT_LE(tokens, run.seq_len + 1);
    counts.targets += tokens - prompt;
    counts.padding += run.seq_len - std::min(tokens, run.seq_len);
    for (std::int64_t t = 0; t < run.seq_len; ++t) {
      const auto at = static_cast<std::size_t>(b * run.seq_len + t);
      EXPECT_EQ(batch.tokens[at], t < tokens ? plain.tokens[at] : 0);
      EXPECT_EQ(batch.targets[at], t + 1 >= prompt && t + 1 < tokens ? plain.targets[at] : kNoTarget);
    }
  }
  EXPECT_EQ(batch.counts.targets, counts.targets);
  EXPECT_EQ(batch.counts.padding, counts.padding);
}

TEST(SyntheticDocuments, AreRowsOfAnEvaluationOfAnyLength) {
  auto run = gpt_tiny();
  run.task = spec::Task::eval;
  run.steps = 3;
  const auto evaluation = make_run_data(run).evaluation;
  ASSERT_TRUE(evaluation);
  EXPECT_EQ(evaluation->rows(), 3 * run.global_batch);
  EXPECT_FALSE(evaluation->candidate(0));
  const auto batch = rows_at(*evaluation, run, {.step = 1});
  const auto sft = rows_at(*make_token_source(tuned()), run, {.step = 1});
  EXPECT_EQ(batch.tokens, sft.tokens);
  EXPECT_EQ(batch.targets, sft.targets);
}

}  // namespace
}  // namespace perfbench::engine
