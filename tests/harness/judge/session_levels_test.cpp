// The store's knowledge about the differences between sessions of a cell.
#include "harness/judge/session_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/queries/known_sessions.h"
#include "harness/store/queries/query.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class KnownSessionsOf : public testing::Test {
 protected:
  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "a.db");
  int written_ = 0;

  void add(const std::string& matrix, int night, double step_s, const std::vector<double>& probe_s = {0.001},
           SweepKind kind = SweepKind::night) {
    ExampleRun out{.attempt = example_attempt("c", ++written_)};
    out.attempt.sweep_id = matrix + std::to_string(night);
    out.attempt.matrix = matrix;
    out.attempt.sweep_kind = kind;
    out.attempt.started_utc = "2026-01-0" + std::to_string(night) + "T02:00:" + std::to_string(10 + written_) + "Z";
    out.step_s.assign(6, step_s);
    out.probe_s = probe_s;
    write_run_directory(scratch_ / "runs" / std::to_string(written_), out);
  }
  KnownSessions load(const std::vector<std::string>& metrics = {"step_time_s"}) {
    ingest_tree(db_, scratch_ / "runs");
    return load_known_sessions(db_, group_by_subject(load_attempts(db_, parse_selection("latest"))), metrics);
  }
};

TEST_F(KnownSessionsOf, NightsHaveTheirMachineAndRuns) {
  for (const double step_s : {0.4, 0.5, 0.6}) add("m", 1, step_s);
  add("m", 2, 0.7);
  add("m", 3, 9.0,
      {0.001, 0.001, 0.002, 0.001, 0.002, 0.001});  // the probe moved: comparisons do not use such a run, either
  add("m", 4, 0.8);
  const auto known = load().at("step_time_s");
  ASSERT_THAT(known, SizeIs(1));
  const auto cells = group_by_subject(load_attempts(db_, parse_selection("latest")));
  const auto& levels = known.at({"m", cells[0].run_id});
  ASSERT_THAT(levels, SizeIs(3));
  EXPECT_EQ(levels[0].sweep_id, "m1");
  EXPECT_EQ(*levels[2].day - *levels[0].day, 3) << "the 1st and the 4th of January";
  EXPECT_EQ(levels[0].machine, cells[0].machine());
  EXPECT_NEAR(levels[0].log_level, std::log(0.5), 1e-9);
  EXPECT_EQ(levels[0].runs, 3U);
  EXPECT_NEAR(levels[1].log_level, std::log(0.7), 1e-9);
  EXPECT_EQ(levels[2].sweep_id, "m4");
}

// Measurements by hand have sessions as well. A control uses another engine, and so does half of a comparison.
TEST_F(KnownSessionsOf, IncludeEverySweepThatMeasuredTheMatrixItself) {
  int night = 0;
  for (const auto kind : {SweepKind::imported, SweepKind::hand, SweepKind::control, SweepKind::comparison,
                          SweepKind::reproduction, SweepKind::night}) {
    ++night;
    add("m", night, 0.1 * night, {0.001}, kind);
  }
  ExampleRun outside{.attempt = example_attempt("c", 99)};  // in a session to which no other run belongs
  outside.attempt.sweep_id = "";
  outside.attempt.matrix = "m";
  write_run_directory(scratch_ / "runs" / "outside", outside);
  const auto known = load().at("step_time_s");
  ASSERT_THAT(known, SizeIs(1));
  std::vector<std::string> sessions;
  for (const auto& level : known.begin()->second) sessions.push_back(level.sweep_id);
  EXPECT_THAT(sessions, ElementsAre("m1", "m2", "m6"));
}

TEST_F(KnownSessionsOf, AMatrixIsMatchedByItsName) {
  add("m1", 1, 0.4);
  add("m[12]*", 2, 0.5);
  const auto known = load().at("step_time_s");
  ASSERT_THAT(known, SizeIs(1));
  EXPECT_EQ(known.begin()->first.first, "m[12]*");
  EXPECT_THAT(known.begin()->second, SizeIs(1));
}

TEST_F(KnownSessionsOf, AreLoadedForMetricsThatVaryBetweenSessions) {
  add("m", 1, 0.4);
  const auto known = load({"peak_memory_bytes", "step_time_s", "final_loss", "startup_time_s"});
  std::vector<std::string> metrics;
  for (const auto& [metric, levels] : known) metrics.push_back(metric);
  EXPECT_THAT(metrics, ElementsAre("startup_time_s", "step_time_s"));
}

}  // namespace
}  // namespace perfbench::harness
