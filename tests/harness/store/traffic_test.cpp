// The traffic of runs that an older perfbench stored.
#include <gtest/gtest.h>

#include "harness/store/database.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

TEST(TrafficMigration, OlderRunsHaveNoWaitingTimes) {
  const auto first = read_text(PERFBENCH_SOURCE_DIR "/tests/harness/store/schema_001.sql");
  const Schema eleventh{.sql = first, .migrations = current_schema().migrations.first(10)};
  ScratchFolder scratch;
  { open_database(scratch / "a.db", {.schema = {.sql = first, .migrations = {}}}); }
  open_database(scratch / "a.db", {.schema = eleventh})
      .execute(
          "PRAGMA foreign_keys = OFF; INSERT INTO attempt_traffic VALUES (1, 'fsdp', 'all_gather', 4, 4096, 2048)");
  const auto db = open_database(scratch / "a.db");
  Statement row(db, "SELECT axis, sent_bytes, exposed_ns FROM attempt_traffic");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.text(0), "fsdp");
  EXPECT_EQ(row.integer(1), 2048);
  EXPECT_EQ(row.integer(2), 0);
}

}  // namespace
}  // namespace perfbench::harness
