#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/store/database.h"
#include "harness/transfer/table_shape.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TableShape find(const std::vector<TableShape>& shapes, const std::string& name) {
  return *std::find_if(shapes.begin(), shapes.end(), [&](const TableShape& shape) { return shape.name == name; });
}

// A new table that cannot go from one database to another turns this red.
TEST(TableShapes, CoverTheWholeSchemaParentsFirst) {
  ScratchFolder scratch;
  const auto db = open_database(scratch / "a.db");
  std::vector<std::string> placed;
  for (const auto& shape : table_shapes(db)) {
    for (const auto& reference : shape.references)
      EXPECT_THAT(placed, testing::Contains(reference.table)) << shape.name;
    EXPECT_TRUE(shape.key.empty() || shape.key.ends_with("_key")) << shape.name << ": " << shape.key;
    for (const auto& column : shape.columns) {
      EXPECT_EQ(column.ends_with("_key"), shape.reference(column) != nullptr)
          << shape.name << "." << column << ": keys are local, and need a REFERENCES to be translated";
    }
    placed.push_back(shape.name);
  }
  Statement count(db, "SELECT count(*) FROM sqlite_master WHERE type = 'table'");
  ASSERT_TRUE(count.step());
  EXPECT_EQ(static_cast<std::int64_t>(placed.size()), count.integer(0));
}

TEST(TableShapes, KnowRowsByTheirUniqueColumnsAndPartsByTheirOwner) {
  ScratchFolder scratch;
  const auto db = open_database(scratch / "a.db");
  const auto shapes = table_shapes(db);
  EXPECT_EQ(find(shapes, "attempts").key, "attempt_key");
  EXPECT_THAT(find(shapes, "attempts").identity, ElementsAre("run_key", "sweep_key", "attempt", "started_utc"));
  EXPECT_THAT(find(shapes, "alerts").identity, ElementsAre("alert_id"));
  EXPECT_EQ(find(shapes, "baselines").identity, find(shapes, "baselines").columns);
  EXPECT_EQ(find(shapes, "steps").key, "");
  EXPECT_EQ(find(shapes, "steps").owner.table, "attempts");
  EXPECT_EQ(find(shapes, "attempt_summaries").owner.column, "attempt_key");
  EXPECT_THAT(find(shapes, "attempt_summaries").identity, IsEmpty());
}

TEST(TableShapes, RefuseATableThatCannotBeCopied) {
  ScratchFolder scratch;
  for (const auto* sql : {"CREATE TABLE a (x INTEGER)", "CREATE TABLE a (x INTEGER, y INTEGER, PRIMARY KEY (x, y))",
                          "CREATE TABLE a (a_key INTEGER PRIMARY KEY, b_key INTEGER REFERENCES a)"}) {
    std::filesystem::remove(scratch / "a.db");
    Connection db(scratch / "a.db", OpenMode::read_write, 0);
    db.execute(sql);
    EXPECT_THROW(table_shapes(db), std::logic_error) << sql;
  }
}

}  // namespace
}  // namespace perfbench::harness
