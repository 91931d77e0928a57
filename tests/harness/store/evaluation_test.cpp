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

TEST(EvaluationMigration, OlderRunsHaveNone) {
  const auto first = read_text(PERFBENCH_SOURCE_DIR "/tests/harness/store/schema_001.sql");
  const Schema thirteenth{.sql = first, .migrations = current_schema().migrations.first(12)};
  ScratchFolder scratch;
  { open_database(scratch / "a.db", {.schema = {.sql = first, .migrations = {}}}); }
  open_database(scratch / "a.db", {.schema = thirteenth})
      .execute(
          "PRAGMA foreign_keys = OFF; INSERT INTO attempt_summaries VALUES (1, 'ok', '', 6, 1, 0, 0, 0, 0, 0, 0, 0, 5, "
          "6, 7, 0, 0, 0, 0, 0, 0, 100, 90)");
  const auto db = open_database(scratch / "a.db");
  Statement row(db, "SELECT parameters, evaluation_rows, evaluation_accuracy FROM attempt_summaries");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.integer(0), 100);
  EXPECT_EQ(row.integer(1), 0);
  EXPECT_EQ(row.real(2), 0);
}

}  // namespace
}  // namespace perfbench::harness
