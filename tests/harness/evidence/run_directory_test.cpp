#include "harness/evidence/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <thread>

#include "harness/evidence/attempt.h"
#include "harness/evidence/run_evidence.h"
#include "harness/system/input_error.h"
#include "workloads/spec/process_token.h"

namespace perfbench::harness {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kRunId(64, 'a');

class RunDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    runs_ = fs::path(::testing::TempDir()) / (std::string("run_directory_test.") + info->name());
    fs::remove_all(runs_);
  }
  void TearDown() override { fs::remove_all(runs_); }
  fs::path runs_;
};

TEST_F(RunDirectory, NumbersTheAttemptsOfARun) {
  EXPECT_EQ(create_attempt(runs_, kRunId).path, runs_ / "aaaaaaaaaaaaaaaa" / "001");
  EXPECT_EQ(create_attempt(runs_, kRunId).attempt, 2);
  EXPECT_EQ(list_attempts(runs_, kRunId).size(), 2U);
  EXPECT_TRUE(list_attempts(runs_, std::string(64, 'b')).empty());
}

TEST_F(RunDirectory, CountsBeyondThreeDigits) {
  fs::create_directories(runs_ / "aaaaaaaaaaaaaaaa" / "1000");
  fs::create_directories(runs_ / "aaaaaaaaaaaaaaaa" / "999");
  fs::create_directories(runs_ / "aaaaaaaaaaaaaaaa" / "notes");
  EXPECT_EQ(create_attempt(runs_, kRunId).attempt, 1001);
}

TEST_F(RunDirectory, NeverGivesTwoSweepsTheSameAttempt) {
  std::array<std::vector<std::int64_t>, 2> taken;
  std::array<std::thread, 2> sweeps;
  for (std::size_t i = 0; i < 2; ++i) {
    sweeps[i] = std::thread([this, &mine = taken[i]] {
      for (int n = 0; n < 100; ++n) mine.push_back(create_attempt(runs_, kRunId).attempt);
    });
  }
  for (auto& sweep : sweeps) sweep.join();
  std::set<std::int64_t> all(taken[0].begin(), taken[0].end());
  all.insert(taken[1].begin(), taken[1].end());
  EXPECT_EQ(all.size(), 200U);
}

TEST_F(RunDirectory, IsCompleteOnceItHoldsTheRecordOfTheAttempt) {
  const auto cut_off = create_attempt(runs_, kRunId);
  const auto complete = create_attempt(runs_, kRunId);
  AttemptRecord record;
  record.run_id = kRunId;
  record.attempt = 2;
  record.reason = "exit code 4";
  write_atomically(complete.path / kAttemptFile, to_json_line(record));
  EXPECT_EQ(read_attempt(cut_off.path), std::nullopt);
  ASSERT_TRUE(read_attempt(complete.path));
  EXPECT_EQ(read_attempt(complete.path)->reason, "exit code 4");
}

TEST_F(RunDirectory, SaysWhichRecordItCannotUnderstand) {
  const auto attempt = create_attempt(runs_, kRunId);
  std::ofstream(attempt.path / kAttemptFile) << "{\"versoin\":1}";
  try {
    read_attempt(attempt.path);
    FAIL() << "understood an unknown key";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("attempt.json"));
    EXPECT_THAT(e.what(), HasSubstr("versoin"));
  }
}

TEST_F(RunDirectory, ReplacesAFileAsAWholeAndLeavesNothingElse) {
  const auto attempt = create_attempt(runs_, kRunId);
  write_atomically(attempt.path / "x", std::string(100'000, 'a'));
  write_atomically(attempt.path / "x", "b");
  EXPECT_EQ(read_file(attempt.path / "x"), "b");
  EXPECT_EQ(std::distance(fs::directory_iterator(attempt.path), fs::directory_iterator()), 1);
}

TEST_F(RunDirectory, SaysWhichFileItCannotWrite) {
  try {
    write_atomically("/dev/null/run.json", "x");
    FAIL() << "wrote below a device";
  } catch (const RunDirectoryError& e) {
    EXPECT_THAT(e.what(), HasSubstr("/dev/null/run.json"));
  }
}

TEST_F(RunDirectory, SaysThatTheDiskIsFull) {
  // /dev/full refuses every write, like a full disk. A temporary file in its folder can be linked to it under the name
  // that the writer will open.
  const auto attempt = create_attempt(runs_, kRunId);
  fs::create_symlink("/dev/full", attempt.path / ("run.json." + spec::process_token() + ".tmp"));
  try {
    write_atomically(attempt.path / kRunFile, "{}");
    FAIL() << "wrote to a full disk";
  } catch (const RunDirectoryError& e) {
    EXPECT_THAT(e.what(), HasSubstr("run.json"));
    EXPECT_THAT(e.what(), HasSubstr("No space left"));
    EXPECT_THAT(e.what(), HasSubstr("--runs"));
  }
  EXPECT_FALSE(fs::exists(attempt.path / kRunFile));
}

}  // namespace
}  // namespace perfbench::harness
