#include "harness/app/runs/reproduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

RunEvidence evidence() {
  const ScratchFolder scratch;
  ExampleRun example{.attempt = example_attempt("c", 1)};
  example.run.mesh.ici.fsdp = 2;
  write_run_directory(scratch / "run", example);
  return read_run_directory(scratch / "run").value();
}

spec::StepRecord& record(RunEvidence& evidence, std::int64_t step, std::int64_t rank) {
  for (auto& r : evidence.steps) {
    if (r.step == step && r.rank == rank) return r;
  }
  throw std::out_of_range("no such step");
}

TEST(Reproduction, TwoEqualAttemptsReproduceWhateverTheirTimes) {
  auto repeated = evidence();
  for (auto& r : repeated.steps) r.wall_ns *= 2;
  const auto found = hold_against(evidence(), repeated);
  EXPECT_TRUE(found.reproduced());
  EXPECT_EQ(found.recorded_steps, 12);
  EXPECT_DOUBLE_EQ(*found.recorded_step_time_s, 0.5);
  EXPECT_DOUBLE_EQ(*found.repeated_step_time_s, 1.0);
  EXPECT_TRUE(found.environment.empty());
}

TEST(Reproduction, TheFirstDifferenceIsTheEarliestStepsOfTheLowestRank) {
  auto repeated = evidence();
  record(repeated, 4, 0).loss += 1;
  record(repeated, 2, 1).grad_norm = std::nextafter(1.25, 2.0);
  const auto found = hold_against(evidence(), repeated);
  ASSERT_TRUE(found.first_difference);
  EXPECT_EQ(found.first_difference->step, 2);
  EXPECT_EQ(found.first_difference->rank, 1);
  EXPECT_EQ(found.first_difference->number, "grad_norm");
  EXPECT_EQ(found.first_difference->recorded, 1.25);
  EXPECT_FALSE(found.reproduced());
}

TEST(Reproduction, EqualNansAreEqual) {
  auto recorded = evidence();
  auto repeated = evidence();
  for (auto* side : {&recorded, &repeated}) record(*side, 3, 0).loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(hold_against(recorded, repeated).reproduced());
}

TEST(Reproduction, MemoryStateAndStepsCount) {
  auto more_memory = evidence();
  record(more_memory, 0, 0).peak.total_bytes += 64;
  EXPECT_EQ(hold_against(evidence(), more_memory).first_difference->number, "peak.total_bytes");
  auto crashed = evidence();
  crashed.attempt.state = AttemptState::crashed;
  EXPECT_FALSE(hold_against(evidence(), crashed).reproduced());
  auto shorter = evidence();
  shorter.steps.pop_back();
  const auto found = hold_against(evidence(), shorter);
  EXPECT_FALSE(found.first_difference);
  EXPECT_FALSE(found.reproduced());
}

TEST(Reproduction, ListsTheFactsOfTheEnvironmentThatDiffer) {
  auto repeated = evidence();
  repeated.environment->libraries["oneDNN"] = "3.0";
  repeated.environment->cpu_model = "Other CPU";
  repeated.environment->load_1m = 7;  // a reading, not a fact
  const auto found = hold_against(evidence(), repeated);
  ASSERT_EQ(found.environment.size(), 2U);
  EXPECT_EQ(found.environment[0].field, "cpu_model");
  EXPECT_EQ(found.environment[1].field, "libraries.oneDNN");
  EXPECT_EQ(found.environment[1].left, "2.6.3");
  EXPECT_EQ(found.environment[1].right, "3.0");
  EXPECT_TRUE(found.reproduced());
}

}  // namespace
}  // namespace perfbench::harness
