// The results of an evaluation in the database.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

TEST(StoredEvaluation, IsPartOfTheSummaryAndOfTheMetrics) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  ExampleRun example{.attempt = example_attempt("one", 1)};
  example.evaluation = {
      .rows = 8, .questions = 4, .tokens = 9, .nll_sum = 18.5, .perplexity = 7.8125, .accuracy = 0.75};
  write_run_directory(scratch / "r", example);
  ingest_run_directory(db, scratch / "r");
  Statement row(db,
                "SELECT evaluation_rows, evaluation_questions, evaluation_tokens, evaluation_nll_sum, "
                "evaluation_perplexity, evaluation_accuracy FROM attempt_summaries");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.integer(0), 8);
  EXPECT_EQ(row.integer(1), 4);
  EXPECT_EQ(row.integer(2), 9);
  EXPECT_EQ(row.real(3), 18.5);
  EXPECT_EQ(row.real(4), 7.8125);
  EXPECT_EQ(row.real(5), 0.75);
  Statement metrics(db,
                    "SELECT name, value FROM metrics JOIN names USING (name_key) WHERE name LIKE 'eval_%' "
                    "ORDER BY name");
  ASSERT_TRUE(metrics.step());
  EXPECT_EQ(metrics.text(0), "eval_accuracy");
  EXPECT_EQ(metrics.real(1), 0.75);
  ASSERT_TRUE(metrics.step());
  EXPECT_EQ(metrics.text(0), "eval_perplexity");
  EXPECT_FALSE(metrics.step());
}

TEST(StoredEvaluation, ADivergedModelHasNoPerplexity) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  ExampleRun example{.attempt = example_attempt("one", 1)};
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  example.evaluation = {.rows = 8, .tokens = 9, .nll_sum = kNan, .perplexity = kNan};
  write_run_directory(scratch / "r", example);
  EXPECT_EQ(ingest_run_directory(db, scratch / "r").ingested, Ingested::added);
  Statement metrics(db, "SELECT count(*) FROM metrics JOIN names USING (name_key) WHERE name = 'eval_perplexity'");
  ASSERT_TRUE(metrics.step());
  EXPECT_EQ(metrics.integer(0), 0);
}

}  // namespace
}  // namespace perfbench::harness
