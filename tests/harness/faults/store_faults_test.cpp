// A database that cannot be written, two concurrent sweeps, a full disk.
#include <sys/mount.h>
#include <unistd.h>

#include <map>
#include <set>

#include "harness/evidence/run_directory.h"
#include "tests/harness/faults/fault_fixture.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr auto kFirstOk = static_cast<std::int64_t>(perfbench::fake::FakeBehaviour::first_ok);

TEST_F(Faults, ADatabaseThatCannotBeOpenedIsReportedBeforeAnythingRuns) {
  write_matrix({kFirstOk});
  fs::create_directory(scratch_ / "f.db");
  const auto end = sweep();
  EXPECT_NE(end.exit_code, 0);
  EXPECT_THAT(end.error_output, HasSubstr("f.db"));
  EXPECT_FALSE(fs::exists(scratch_ / "f.runs"));
}

TEST_F(Faults, TwoSweepsIntoOneDatabaseLoseNothing) {
  std::vector<std::int64_t> seeds;
  for (std::int64_t i = 0; i < 20; ++i) seeds.push_back(kFirstOk + i);
  write_matrix(seeds);
  Process first(sweep_request());
  Process second(sweep_request());
  EXPECT_EQ(first.wait({}).exit_code, 0);
  EXPECT_EQ(second.wait({}).exit_code, 0);
  std::map<std::string, std::set<std::int64_t>> attempts;
  for (const auto& attempt : stored()) {
    EXPECT_EQ(attempt.state, AttemptState::ok);
    EXPECT_TRUE(attempts[attempt.run_id].insert(attempt.attempt).second);
  }
  EXPECT_EQ(attempts.size(), seeds.size());
  for (const auto& [run, numbers] : attempts) EXPECT_EQ(numbers.size(), 2U) << run;
}

// In two containers both could have process id 1.
TEST_F(Faults, TheIdOfASweepHoldsMoreThanASecondAndAProcessNumber) {
  write_matrix({kFirstOk});
  ASSERT_EQ(sweep().exit_code, 0);
  EXPECT_THAT(stored().front().sweep_id, testing::MatchesRegex("[0-9]{8}T[0-9]{6}Z-[0-9a-f]{10}"));
}

TEST_F(Faults, AFullDiskEndsTheSweepWithThePathAndKeepsWhatWasStored) {
  const auto disk = scratch_ / "disk";
  fs::create_directory(disk);
  if (::geteuid() != 0 || ::mount("none", disk.c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "cannot mount a small file system (needs root)";
  }
  std::vector<std::int64_t> seeds;
  for (std::int64_t i = 0; i < 60; ++i) seeds.push_back(kFirstOk + i);
  write_matrix(seeds);
  const auto end = sweep({"--runs", "disk/runs"});
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_THAT(end.error_output + end.output, HasSubstr("disk/runs"));
  std::size_t ok = 0;
  for (const auto& attempt : stored()) ok += attempt.state == AttemptState::ok ? 1 : 0;
  EXPECT_GT(ok, 0U);
  EXPECT_LT(ok, seeds.size());
  ::umount2(disk.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace perfbench::harness
