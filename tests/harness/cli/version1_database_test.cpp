// tests/harness/store_data/version_001.sql.zst is a database of version 1 of the schema, as SQL text: a demonstration
// night with its alert and comparison, a sweep by hand, a baseline, a tag and a note. version_001_report.json is what
// `perfbench report --sweep all --format json` of the same build printed for it. Every later version of perfbench must
// read both; neither file is ever written again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <vector>

#include "harness/execute/process.h"
#include "harness/store/archive/archive.h"
#include "harness/store/sqlite.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

const std::string kVersion1 = PERFBENCH_SOURCE_DIR "/tests/harness/store_data/version_001";

std::string unpacked(const std::string& file) {
  bool given = false;
  std::string out;
  zstd_decompress(
      [&](std::string& bytes) {
        bytes = given ? std::string() : read_text(file);
        given = true;
      },
      [&](std::string_view bytes) { out += bytes; });
  return out;
}

class DatabaseOfVersion1 : public testing::Test {
 protected:
  DatabaseOfVersion1() {
    Connection db(scratch_ / "p.db", OpenMode::read_write, 0);
    db.execute(unpacked(kVersion1 + ".sql.zst"));
  }
  ProcessEnd perfbench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    return run_process({.command = arguments,
                        .working_dir = scratch_.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}, {"USER", "ada"}}});
  }
  // By a command that writes; an unfinished attempt adds nothing.
  void migrate() {
    std::filesystem::create_directories(scratch_ / "none/run");
    write_text(scratch_ / "none/run/run.json", "{}");
    const auto end = perfbench({"ingest", "none", "--db", "p.db"});
    ASSERT_EQ(end.exit_code, 0) << end.error_output;
  }
  std::int64_t number(const std::string& file, const std::string& sql) {
    const Connection db(scratch_ / file, OpenMode::read_only, 0);
    Statement row(db, sql);
    return row.step() ? row.integer(0) : -1;
  }
  // Without comments and line breaks.
  std::vector<std::string> schema(const std::string& file) {
    const Connection db(scratch_ / file, OpenMode::read_only, 0);
    Statement all(db, "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_master ORDER BY type, name");
    std::vector<std::string> out;
    while (all.step()) {
      const auto code = std::regex_replace(all.text(0), std::regex("--[^\n]*"), "");
      out.push_back(std::regex_replace(code, std::regex("\\s+"), " "));
    }
    return out;
  }

  ScratchFolder scratch_;
};

TEST_F(DatabaseOfVersion1, GetsTheSchemaOfANewDatabaseFromTheFirstCommandThatWrites) {
  ASSERT_EQ(number("p.db", "PRAGMA user_version"), 1);
  const auto steps = number("p.db", "SELECT count(*) FROM steps");
  std::filesystem::create_directories(scratch_ / "runs");
  ExampleRun example{.attempt = example_attempt("c", 1)};
  write_run_directory(scratch_ / "runs/1", example);
  for (const auto* db : {"p.db", "new.db"}) {
    const auto end = perfbench({"ingest", "runs", "--db", db});
    EXPECT_EQ(end.exit_code, 0) << end.error_output;
  }
  EXPECT_EQ(number("p.db", "PRAGMA user_version"), number("new.db", "PRAGMA user_version"));
  EXPECT_EQ(schema("p.db"), schema("new.db"));
  EXPECT_EQ(number("p.db", "SELECT count(*) FROM v_steps"), steps + 6);
  EXPECT_EQ(number("p.db", "SELECT count(*) FROM v_runs"), number("p.db", "SELECT count(*) FROM attempts"));
  EXPECT_EQ(number("p.db", "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

// A later version may add keys to a report; those that there were keep their values.
TEST_F(DatabaseOfVersion1, ReportsTheSameNumbers) {
  migrate();
  const auto end = perfbench({"report", "--db", "p.db", "--sweep", "all", "--format", "json"});
  ASSERT_EQ(end.exit_code, 0) << end.error_output;
  const auto before = nlohmann::json::parse(read_text(kVersion1 + "_report.json"))["rows"];
  const auto now = nlohmann::json::parse(end.output)["rows"];
  ASSERT_EQ(now.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (const auto& [key, value] : before[i].items()) {
      if (key == "notes") continue;  // sentences
      EXPECT_EQ(now[i].value(key, nlohmann::json("absent")), value) << before[i]["cell"] << " " << key;
    }
  }
}

TEST_F(DatabaseOfVersion1, KeepsItsAlertsBaselinesComparisonsTagsAndNotes) {
  migrate();
  EXPECT_THAT(perfbench({"alerts", "list", "--db", "p.db"}).output, HasSubstr("ab889710e657"));
  EXPECT_THAT(perfbench({"baseline", "list", "--db", "p.db"}).output, HasSubstr("first measured"));
  EXPECT_THAT(perfbench({"show", "golden", "--db", "p.db"}).output, HasSubstr("reference for release 0.1.0"));
  ASSERT_EQ(perfbench({"export", "--db", "p.db", "p.perfbench"}).exit_code, 0);
  const auto taken = perfbench({"import", "--db", "q.db", "p.perfbench"});
  EXPECT_EQ(taken.exit_code, 0) << taken.error_output;
  EXPECT_THAT(taken.output,
              HasSubstr(std::to_string(number("p.db", "SELECT count(*) FROM attempts")) + " attempts added"));
}

}  // namespace
}  // namespace perfbench::harness
