// One peak for all runs of a class of machine, so that equal step times have equal MFU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "harness/store/attempts/environments.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

class ClassPeaks : public testing::Test {
 protected:
  // The kernel version differs from run to run, as commits do: the class is the same.
  std::int64_t add(double flops_per_s, std::int64_t ranks = 1, const std::string& cpu = "Example CPU 3000") {
    ExampleRun example{.attempt = example_attempt("c", ++written_)};
    example.environment.cpu_model = cpu;
    example.environment.kernel = std::to_string(written_ % 3);
    example.environment.ranks = ranks;
    example.environment.peak_flops_per_s = flops_per_s;
    const auto folder = scratch_ / std::to_string(written_);
    write_run_directory(folder, example);
    ingest_run_directory(db_, folder);
    return written_;
  }
  StoredAttempt attempt(std::int64_t number) {
    Statement key(db_, "SELECT attempt_key FROM attempts WHERE attempt = ?");
    key.with(number).step();
    return load_attempts(db_, {key.integer(0)}).at(0);
  }

  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "a.db");
  std::int64_t written_ = 0;
};

TEST_F(ClassPeaks, AreTheHighestOfTheFirstMeasurements) {
  const auto slow = add(4e10);  // measured beside another program
  add(1.2e11);
  const auto fast = add(1.3e11);
  const auto other_layout = add(2e11, 2);
  const auto other_class = add(3e11, 1, "Another CPU");
  const auto unmeasured = add(0, 4);
  ASSERT_TRUE(attempt(slow).cpu_peak);
  EXPECT_EQ(attempt(slow).cpu_peak->flops_per_s, 1.3e11);
  EXPECT_EQ(attempt(slow).cpu_peak->median_flops_per_s, 1.2e11);
  EXPECT_EQ(attempt(slow).cpu_peak->measurements, 3U);
  EXPECT_EQ(attempt(fast).cpu_peak->flops_per_s, 1.3e11);
  EXPECT_EQ(attempt(other_layout).cpu_peak->flops_per_s, 2e11);
  EXPECT_EQ(attempt(other_class).cpu_peak->flops_per_s, 3e11);
  EXPECT_FALSE(attempt(unmeasured).cpu_peak);
}

// Otherwise tonight's measurements would change the MFU of every earlier report.
TEST_F(ClassPeaks, DoNotChangeOnceThereAreEnough) {
  for (std::size_t i = 0; i < ClassPeakReader::kMeasurements; ++i) add(1e11);
  const auto late = add(9e11);
  EXPECT_EQ(attempt(late).cpu_peak->flops_per_s, 1e11);
  EXPECT_EQ(attempt(late).cpu_peak->measurements, ClassPeakReader::kMeasurements);
}

TEST_F(ClassPeaks, LeaveOutInvalidRates) {
  const auto damaged = add(1e11);
  add(2e11);
  Statement(db_, "UPDATE attempts SET peak_flops_per_s = ? WHERE attempt = ?")
      .run(std::numeric_limits<double>::infinity(), damaged);
  EXPECT_EQ(attempt(damaged).cpu_peak->flops_per_s, 2e11);
}

}  // namespace
}  // namespace perfbench::harness
