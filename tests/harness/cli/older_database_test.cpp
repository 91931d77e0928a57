// tests/harness/store_data/version_016.sql.zst is a database as perfbench wrote it when version 16 of the schema was
// the newest, as SQL text: a demonstration night with its alert and comparison, a sweep by hand, a baseline.
// version_016_report.json is the output of `perfbench report --sweep all --format json` of the same build. Neither file
// is ever written again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/execute/process.h"
#include "harness/store/archive/archive.h"
#include "harness/store/sqlite.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

const std::string kOlder = PERFBENCH_SOURCE_DIR "/tests/harness/store_data/version_016";

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

class OlderDatabase : public testing::Test {
 protected:
  OlderDatabase() {
    Connection db(scratch_ / "p.db", OpenMode::read_write, 0);
    db.execute(unpacked(kOlder + ".sql.zst"));
  }
  ProcessEnd perfbench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    return run_process({.command = arguments,
                        .working_dir = scratch_.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}, {"USER", "ada"}}});
  }
  std::int64_t number(const std::string& sql) {
    const Connection db(scratch_ / "p.db", OpenMode::read_only, 0);
    Statement row(db, sql);
    return row.step() ? row.integer(0) : -1;
  }

  ScratchFolder scratch_;
};

TEST_F(OlderDatabase, IsBroughtUpToDateByTheFirstCommandThatWrites) {
  ASSERT_EQ(number("PRAGMA user_version"), 16);
  const auto steps = number("SELECT count(*) FROM steps");
  std::filesystem::create_directories(scratch_ / "runs");
  ExampleRun example{.attempt = example_attempt("c", 1)};
  write_run_directory(scratch_ / "runs/1", example);
  const auto end = perfbench({"ingest", "runs", "--db", "p.db"});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_GT(number("PRAGMA user_version"), 16);
  EXPECT_EQ(number("SELECT count(*) FROM v_steps"), steps + 6);
  EXPECT_EQ(number("SELECT count(*) FROM v_runs"), number("SELECT count(*) FROM attempts"));
  EXPECT_EQ(number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

// A report may get new keys, but existing keys keep their values. Two values were recorded anew: the rates of two
// attempts, because they are now computed from the step time, and MFU, which now uses the highest peak of the class of
// machine. A run that a demonstration and both sides of a comparison executed used to be one row.
TEST_F(OlderDatabase, ReportsTheSameNumbersOfEverySubject) {
  std::filesystem::create_directories(scratch_ / "none/run");
  write_text(scratch_ / "none/run/run.json", "{}");
  ASSERT_EQ(perfbench({"ingest", "none", "--db", "p.db"}).exit_code, 0) << "of an unfinished attempt nothing is taken";
  const auto end = perfbench({"report", "--db", "p.db", "--sweep", "all", "--format", "json"});
  ASSERT_EQ(end.exit_code, 0) << end.error_output;
  const auto before = nlohmann::json::parse(read_text(kOlder + "_report.json"));
  std::map<std::string, std::vector<nlohmann::json>> now;
  const auto report = nlohmann::json::parse(end.output);
  for (const auto& row : report["rows"]) now[row["run_id"]].push_back(row);
  int unchanged = 0;
  for (const auto& row : before["rows"]) {
    const auto& mine = now[row["run_id"]];
    ASSERT_FALSE(mine.empty());
    if (mine.size() == 1 && mine[0]["inject"].empty()) {
      ++unchanged;
      for (const auto& [key, value] : row.items()) {
        EXPECT_EQ(mine[0].value(key, nlohmann::json("absent")), value) << row["cell"] << " " << key;
      }
      continue;
    }
    std::int64_t runs = 0;
    for (const auto& one : mine) runs += one["runs"].get<std::int64_t>();
    EXPECT_LT(runs, row["runs"]) << "runs with a fault were among them";
  }
  EXPECT_EQ(unchanged, 6);
}

TEST_F(OlderDatabase, KeepsItsAlertsBaselinesAndComparisons) {
  std::filesystem::create_directories(scratch_ / "none/run");
  write_text(scratch_ / "none/run/run.json", "{}");
  ASSERT_EQ(perfbench({"ingest", "none", "--db", "p.db"}).exit_code, 0);
  EXPECT_THAT(perfbench({"alerts", "list", "--db", "p.db"}).output, HasSubstr("ab889710e657"));
  EXPECT_THAT(perfbench({"baseline", "list", "--db", "p.db"}).output, HasSubstr("first measured"));
  ASSERT_EQ(perfbench({"export", "--db", "p.db", "p.perfbench"}).exit_code, 0);
  const auto taken = perfbench({"import", "--db", "q.db", "p.perfbench"});
  EXPECT_EQ(taken.exit_code, 0) << taken.error_output;
  EXPECT_THAT(taken.output, HasSubstr(std::to_string(number("SELECT count(*) FROM attempts")) + " attempts added"));
}

}  // namespace
}  // namespace perfbench::harness
