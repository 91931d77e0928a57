// Simulated nights are complete evidence of earlier days, have the requested noise, and say that they are simulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "harness/app/night/demonstration_night.h"
#include "harness/evidence/run_evidence.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::SizeIs;

TEST(SimulatedNights, AreEvidenceOfEarlierDaysThatTheStoreTakes) {
  const ScratchFolder scratch;
  ExampleRun example{.attempt = example_attempt("c", 1)};
  example.run.mesh.ici.fsdp = 2;
  write_run_directory(scratch / "base/a/001", example);
  ExampleRun failed{.attempt = example_attempt("d", 1)};
  failed.attempt.state = AttemptState::crashed;
  write_run_directory(scratch / "base/b/001", failed);

  const auto nights =
      write_simulated_nights({scratch / "base/a/001", scratch / "base/b/001"}, scratch / "runs", {.nights = 3});
  ASSERT_THAT(nights, SizeIs(3));  // the crash is not simulated
  const auto oldest = read_run_directory(nights.front());
  ASSERT_TRUE(oldest);
  EXPECT_EQ(oldest->attempt.started_utc, "2026-01-28T12:00:01Z");
  EXPECT_EQ(oldest->attempt.sweep_id, "simulated-2026-01-28");
  EXPECT_EQ(oldest->attempt.perfbench_version, "simulated");
  EXPECT_EQ(read_run_directory(nights.back())->attempt.started_utc, "2026-01-30T12:00:01Z");
  for (const auto& step : oldest->steps) {
    EXPECT_EQ(step.wall_ns, step.data_ns + step.forward_ns + step.backward_ns + step.exposed_comm_ns + step.bubble_ns +
                                step.optimizer_ns + step.other_ns);
  }
  auto db = open_database(scratch / "n.db");
  const auto report = ingest_tree(db, scratch / "runs");
  EXPECT_EQ(report.added, 3);
  EXPECT_THAT(report.problems, testing::IsEmpty());
  EXPECT_THAT(load_attempts(db, parse_selection("all")), SizeIs(3));
}

TEST(SimulatedNights, HaveTheRequestedNoiseAndRepeatWithTheirSeed) {
  const ScratchFolder scratch;
  write_run_directory(scratch / "base/a/001", {.attempt = example_attempt("c", 1)});
  const auto logs = [&](const char* folder, double sd) {
    std::vector<double> out;
    for (const auto& night : write_simulated_nights({scratch / "base/a/001"}, scratch / folder,
                                                    {.nights = 200, .step_time_sd = sd, .seed = 3})) {
      out.push_back(std::log(static_cast<double>(read_run_directory(night)->steps[1].wall_ns) / 0.5e9));
    }
    return out;
  };
  const auto narrow = logs("narrow", 0.01);
  EXPECT_EQ(narrow, logs("again", 0.01));
  double square = 0;
  for (const double x : narrow) square += x * x;
  // 200 squares of normal values: the standard error of their root mean is 1 / sqrt(400) = 5 %; the tolerance is 4
  // times that.
  EXPECT_NEAR(std::sqrt(square / 200), 0.01, 0.002);
  const auto wide = logs("wide", 0.05);
  EXPECT_NEAR(wide[7] / narrow[7], 5,
              0.01);  // the same random draw; wall_ns is an integer number of nanoseconds, about half a second
}

}  // namespace
}  // namespace perfbench::harness
