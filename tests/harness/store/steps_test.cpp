// Columns of a step that not every run has.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "harness/store/attempts/ingest.h"
#include "harness/store/columns.h"
#include "harness/store/database.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

spec::StepRecord stored_step(const Connection& db) {
  const auto columns = column_list(columns_of<spec::StepRecord>());
  Statement row(db, "SELECT " + columns + " FROM steps WHERE step = 3");
  EXPECT_TRUE(row.step());
  spec::StepRecord out;
  read_columns(row, 0, out);
  return out;
}

TEST(StoredSteps, KeepTheUseOfExpertsAndTheirTokens) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  ExampleRun example{.attempt = example_attempt("one", 1)};
  example.step = {.balance_loss = 1.5,
                  .expert_load = 1.25,
                  .dropped_choices = 7,
                  .loss_tokens = 90,
                  .padding_tokens = 38,
                  .traced = 1};
  write_run_directory(scratch / "r", example);
  ingest_run_directory(db, scratch / "r");
  const auto step = stored_step(db);
  EXPECT_EQ(step.balance_loss, 1.5);
  EXPECT_EQ(step.expert_load, 1.25);
  EXPECT_EQ(step.dropped_choices, 7);
  EXPECT_EQ(step.loss_tokens, 90);
  EXPECT_EQ(step.padding_tokens, 38);
  EXPECT_EQ(step.traced, 1);
}

TEST(StoredSteps, HaveTokenCountsOnlyIfRecorded) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  ExampleRun example{.attempt = example_attempt("one", 1)};
  example.step.balance_loss = std::numeric_limits<double>::quiet_NaN();
  write_run_directory(scratch / "r", example);
  ingest_run_directory(db, scratch / "r");
  Statement row(db, "SELECT sum(loss_tokens), sum(padding_tokens), sum(dropped_choices) FROM steps");
  ASSERT_TRUE(row.step());
  EXPECT_TRUE(row.is_null(0));
  EXPECT_TRUE(row.is_null(1));
  EXPECT_FALSE(row.is_null(2));
  const auto step = stored_step(db);
  EXPECT_EQ(step.loss_tokens, 0);
  EXPECT_TRUE(std::isnan(step.balance_loss));
}

}  // namespace
}  // namespace perfbench::harness
