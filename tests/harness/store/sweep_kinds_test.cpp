// The purpose of a sweep, in databases in which only the names of sweeps showed it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/store/database.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;

TEST(SweepKindsMigration, DerivesTheKindFromIdsAndNames) {
  const auto first = read_text(PERFBENCH_SOURCE_DIR "/tests/harness/store/schema_001.sql");
  const auto up_to = [&](std::size_t version) {
    return Schema{.sql = first, .migrations = current_schema().migrations.first(version - 1)};
  };
  ScratchFolder scratch;
  { open_database(scratch / "a.db", {.schema = {.sql = first, .migrations = {}}}); }
  {
    auto eighth = open_database(scratch / "a.db", {.schema = up_to(8)});
    Statement sweep(eighth, "INSERT INTO sweeps (sweep_id, matrix, started_utc) VALUES (?, ?, ?)");
    for (const auto& [id, matrix] : {std::pair{"", "m"},
                                     {"20260101T020000Z-a", "m"},
                                     {"20260101T020000Z-a-control", "control"},
                                     {"20260102T020000Z-b", "control"},
                                     {"simulated-2026-01-03", "m"},
                                     {"20260104T020000Z-c", "m"}}) {
      sweep.run(std::string_view(id), std::string_view(matrix), std::string_view("2026-01-01T02:00:00Z"));
    }
    eighth.execute(
        "INSERT INTO ab_comparisons (comparison_id, purpose, matrix, settings, seed, started_utc) "
        "VALUES ('20260104T020000Z-c', 'compare', 'm', 's', 7, '2026-01-04T02:00:00Z')");
  }
  const auto db = open_database(scratch / "a.db", {.schema = up_to(9)});
  Statement rows(db, "SELECT sweep_id || ' of ' || matrix || ': ' || kind FROM sweeps ORDER BY sweep_key");
  std::vector<std::string> kinds;
  while (rows.step()) kinds.push_back(rows.text(0));
  EXPECT_THAT(kinds,
              ElementsAre(" of m: imported", "20260101T020000Z-a of m: night",
                          "20260101T020000Z-a-control of control: control", "20260102T020000Z-b of control: night",
                          "simulated-2026-01-03 of m: simulated", "20260104T020000Z-c of m: comparison"));
  Statement broken(db, "PRAGMA foreign_key_check");
  EXPECT_FALSE(broken.step());
}

}  // namespace
}  // namespace perfbench::harness
