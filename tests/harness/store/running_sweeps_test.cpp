// The progress of running sweeps in a database.
#include "harness/store/queries/running_sweeps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/store/database.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RunningSweeps : public testing::Test {
 protected:
  std::vector<std::string> ids() const {
    std::vector<std::string> out;
    for (const auto& sweep : running_sweeps(db_, "2026-01-08T00:00:00Z")) out.push_back(sweep.sweep_id);
    return out;
  }

  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "perf.db");
};

TEST_F(RunningSweeps, ASignReplacesTheEarlierOne) {
  RunningSweep sign{
      .sweep_id = "s", .matrix = "m", .begun_utc = "2026-01-01T00:00:00Z", .sign_utc = "2026-01-01T00:00:00Z"};
  sign.attempts = 4;
  record_running(db_, sign);
  sign.finished = 3;
  sign.cell = "model=a";
  sign.expected_end_utc = "2026-01-01T00:09:00Z";
  sign.sign_utc = "2026-01-01T00:01:00Z";
  record_running(db_, sign);
  const auto found = running_sweeps(db_, "2026-01-08T00:00:00Z");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].matrix, "m");
  EXPECT_EQ(found[0].begun_utc, "2026-01-01T00:00:00Z");
  EXPECT_EQ(found[0].sign_utc, sign.sign_utc);
  EXPECT_EQ(found[0].attempts, 4);
  EXPECT_EQ(found[0].finished, 3);
  EXPECT_EQ(found[0].cell, "model=a");
  EXPECT_EQ(found[0].expected_end_utc, sign.expected_end_utc);
  forget_running(db_, "s");
  EXPECT_THAT(ids(), IsEmpty());
}

TEST_F(RunningSweeps, AKilledSweepIsForgottenAfterAWeek) {
  record_running(db_, {.sweep_id = "killed", .sign_utc = "2026-01-01T00:00:00Z"});
  record_running(db_, {.sweep_id = "next", .sign_utc = "2026-01-07T23:59:59Z"});
  EXPECT_THAT(ids(), ElementsAre("next", "killed"));
  EXPECT_EQ(running_sweeps(db_, "2026-01-08T00:00:01Z").size(), 1U) << "no other sweep is needed for that";
  record_running(db_, {.sweep_id = "last", .sign_utc = "2026-01-08T00:00:01Z"});
  EXPECT_THAT(ids(), ElementsAre("last", "next"));
}

TEST_F(RunningSweeps, ASignOfAnInvalidTimeIsShown) {
  record_running(db_, {.sweep_id = "s", .sign_utc = "yesterday"});
  EXPECT_THAT(ids(), ElementsAre("s"));
}

}  // namespace
}  // namespace perfbench::harness
