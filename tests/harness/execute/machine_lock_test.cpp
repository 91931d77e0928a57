#include "harness/execute/machine_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>
#include <thread>

#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class MachineLockTest : public testing::Test {
 protected:
  LockOutcome hold(MachineLock& lock, const std::string& purpose, int cancel_fd = -1) {
    return lock.hold(purpose, {cancel_fd, [this](const std::string& text) { said_.push_back(text); }});
  }

  const ScratchFolder scratch_;
  const fs::path file_ = scratch_ / "lock";
  std::vector<std::string> said_;
};

TEST_F(MachineLockTest, ASecondMeasurementWaitsAndSaysForWhom) {
  auto first = std::make_unique<MachineLock>(file_);
  EXPECT_EQ(hold(*first, "perfbench (quickstart)"), LockOutcome::held);
  EXPECT_TRUE(said_.empty());
  MachineLock second(file_);
  std::thread waiting;
  const auto outcome = second.hold("perfbench (llama)", {.say = [&](const std::string& text) {
                                     said_.push_back(text);
                                     waiting = std::thread([&] { first.reset(); });
                                   }});
  waiting.join();
  EXPECT_EQ(outcome, LockOutcome::held);
  EXPECT_THAT(said_, ElementsAre(HasSubstr("waiting for perfbench (quickstart) of ")));
}

TEST_F(MachineLockTest, AWaitCanBeCancelled) {
  MachineLock first(file_);
  EXPECT_EQ(hold(first, "perfbench a"), LockOutcome::held);
  MachineLock second(file_);
  Event cancel;
  cancel.add();
  EXPECT_EQ(hold(second, "b", cancel.fd()), LockOutcome::cancelled);
}

TEST_F(MachineLockTest, AKilledProcessFreesIt) {
  const auto child = fork();
  if (child == 0) {
    MachineLock lock(file_);
    if (lock.hold("perfbench (child)", {}) == LockOutcome::held) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  MachineLock lock(file_);
  EXPECT_EQ(hold(lock, "parent"), LockOutcome::held);
  EXPECT_TRUE(said_.empty());
}

TEST_F(MachineLockTest, EveryUserCanOpenItsFile) {
  const auto before = umask(077);
  MachineLock lock(file_);
  EXPECT_EQ(hold(lock, "a"), LockOutcome::held);
  umask(before);
  EXPECT_EQ(fs::status(file_).permissions() & fs::perms::all, static_cast<fs::perms>(0666));
}

// A link could make perfbench write into another file of its user.
TEST_F(MachineLockTest, AFileThatIsNoRegularFileKeepsNobodyFromMeasuring) {
  std::ofstream(scratch_ / "precious") << "text";
  fs::create_symlink(scratch_ / "precious", file_);
  MachineLock link(file_);
  EXPECT_EQ(hold(link, "a"), LockOutcome::unavailable);
  EXPECT_EQ(read_text(scratch_ / "precious"), "text");
  fs::create_directory(scratch_ / "folder");
  MachineLock folder(scratch_ / "folder");
  EXPECT_EQ(hold(folder, "a"), LockOutcome::unavailable);
  MachineLock missing(scratch_ / "missing" / "lock");
  EXPECT_EQ(hold(missing, "a"), LockOutcome::unavailable);
}

// PERFBENCH_LOCK may name anything, and in a common folder another user may have linked a file to this name.
TEST_F(MachineLockTest, AFileOfSomethingElseIsNotEmptied) {
  std::ofstream(scratch_ / "results.csv") << "a,b";
  MachineLock results(scratch_ / "results.csv");
  EXPECT_EQ(hold(results, "perfbench"), LockOutcome::unavailable);
  std::ofstream(scratch_ / "linked");
  fs::create_hard_link(scratch_ / "linked", file_);
  MachineLock linked(file_);
  EXPECT_EQ(hold(linked, "perfbench"), LockOutcome::unavailable);
  EXPECT_EQ(read_text(scratch_ / "results.csv"), "a,b");
}

TEST_F(MachineLockTest, TheEnvironmentNamesItsFile) {
  const std::string before = std::getenv("PERFBENCH_LOCK") == nullptr ? "" : std::getenv("PERFBENCH_LOCK");
  setenv("PERFBENCH_LOCK", "/mounted/lock", 1);
  EXPECT_EQ(machine_lock_file(), "/mounted/lock");
  setenv("PERFBENCH_LOCK", "none", 1);
  EXPECT_EQ(machine_lock_file(), std::nullopt);
  unsetenv("PERFBENCH_LOCK");
  EXPECT_EQ(machine_lock_file()->filename(), "perfbench.lock");
  if (!before.empty()) setenv("PERFBENCH_LOCK", before.c_str(), 1);
}

}  // namespace
}  // namespace perfbench::harness
