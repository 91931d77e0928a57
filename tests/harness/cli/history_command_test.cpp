// perfbench history as a user runs it: the built executable, its output and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/execute/process.h"
#include "harness/store/sqlite.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::Not;

class HistoryCommand : public testing::Test {
 protected:
  ScratchFolder scratch_;

  ProcessEnd run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    return run_process({.command = arguments, .working_dir = scratch_.path()});
  }
  // Twenty nights of two cells. The last two of "a" take `factor` times as long; the last one of "b" may be missing.
  void write_nights(double factor, bool b_tonight) {
    for (int night = 1; night <= 20; ++night) {
      const auto day = (night < 10 ? "0" : "") + std::to_string(night);
      for (const auto* cell : {"a", "b"}) {
        if (night == 20 && *cell == 'b' && !b_tonight) continue;
        ExampleRun example{.attempt = example_attempt(cell, 1)};
        example.attempt.sweep_id = "night" + day;
        example.attempt.sweep_kind = SweepKind::night;
        example.attempt.started_utc = "2026-01-" + day + "T02:00:00Z";
        example.attempt.matrix = "nightly";
        if (*cell == 'b') example.run.seq_len = 64;
        const double wobble = 1 + 0.002 * (night * 7 % 5 - 2);
        example.step_s.assign(6, 0.5 * wobble * (night > 18 && *cell == 'a' ? factor : 1));
        write_run_directory(scratch_ / "runs" / (day + cell), example);
      }
    }
    const auto end = run({"ingest", "runs", "--db", "q.db"});
    ASSERT_EQ(end.exit_code, 0) << end.error_output;
  }
};

TEST_F(HistoryCommand, ShowsALineForEachSeries) {
  write_nights(1, true);
  const auto end = run({"history", "--db", "q.db"});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("Nothing shifted."));
  EXPECT_THAT(end.output, HasSubstr("| nightly | a "));
  const auto csv = run({"history", "--db", "q.db", "--format", "csv", "--series", "*/b"});
  EXPECT_THAT(csv.output, HasSubstr("matrix,cell,machine"));
  EXPECT_THAT(csv.output, Not(HasSubstr("nightly,a,")));
}

TEST_F(HistoryCommand, ExitsWithTwoForAShiftAndSaysSince) {
  write_nights(1.2, true);
  const auto end = run({"history", "--db", "q.db"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.output, HasSubstr("since 2026-01-19"));
  const auto json = nlohmann::json::parse(run({"history", "--db", "q.db", "--format", "json"}).output);
  EXPECT_EQ(json["findings"][0]["cell"], "a");
  EXPECT_EQ(json["findings"][0]["first_bad"], "night19");
  EXPECT_EQ(json["series"][0]["nights"].size(), 20U);
}

TEST_F(HistoryCommand, ExitsWithOneForAVanishedCell) {
  write_nights(1, false);
  const auto end = run({"history", "--db", "q.db"});
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_THAT(end.output, HasSubstr("vanished cell: nightly, b"));
}

TEST_F(HistoryCommand, ARowThatCannotBeReadIsNamedAndLeftOut) {
  write_nights(1, true);
  // One row in the middle of the nights and one of tonight, whose cell then has no known state.
  Connection(scratch_ / "q.db", OpenMode::read_write, 1000)
      .execute("UPDATE attempts SET state = 'bogus' WHERE attempt_key IN (9, 39)");
  const auto end = run({"history", "--db", "q.db"});
  EXPECT_EQ(end.exit_code, 3) << end.output;
  EXPECT_THAT(end.output, HasSubstr("Nothing shifted."));
  EXPECT_THAT(end.output, Not(HasSubstr("vanished")));
  EXPECT_THAT(end.error_output, HasSubstr("the row of attempts with attempt_key 9 cannot be read: state is 'bogus'"));
  EXPECT_THAT(end.error_output, HasSubstr("the row of attempts with attempt_key 39 "));
  Connection(scratch_ / "q.db", OpenMode::read_write, 1000)
      .execute("UPDATE sweeps SET started_utc = 'long ago' WHERE sweep_id = 'night05'");
  EXPECT_THAT(run({"history", "--db", "q.db"}).error_output,
              HasSubstr("the row of sweeps with sweep_id night05 cannot be read: started_utc is 'long ago'"));
}

TEST_F(HistoryCommand, WrongInputExitsWithThree) {
  write_nights(1, true);
  const auto metric = run({"history", "--db", "q.db", "--metric", "grad_norm"});
  EXPECT_EQ(metric.exit_code, 3);
  const auto series = run({"history", "--db", "q.db", "--series", "nothing"});
  EXPECT_EQ(series.exit_code, 3);
  EXPECT_THAT(series.error_output, HasSubstr("for a cell that matches 'nothing'"));
}

}  // namespace
}  // namespace perfbench::harness
