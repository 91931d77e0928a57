#include "harness/execute/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/execute/classify.h"
#include "workloads/spec/program_spec.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
namespace fs = std::filesystem;

spec::RunSpec with_ranks(std::int64_t ranks) {
  spec::RunSpec run;
  run.mesh.ici.fsdp = ranks;
  return run;
}

Launcher on_eight_cores() {
  return {.engine = {"/opt/perfbench-engine"}, .mpirun = "/usr/bin/mpirun", .cores = 8};
}

TEST(Launcher, StartsOneRankWithoutMpi) {
  const auto request = on_eight_cores().request(with_ranks(1), "/runs/a b/001");
  EXPECT_THAT(request.command, ElementsAre("/opt/perfbench-engine", "run", "--dir", "/runs/a b/001"));
  EXPECT_EQ(request.output_file, "/runs/a b/001/engine.log");
  EXPECT_EQ(request.environment.at("OMP_NUM_THREADS"), "8");
}

TEST(Launcher, StartsMoreRanksUnderMpirunAndSharesTheCores) {
  const auto request = on_eight_cores().request(with_ranks(4), "/runs/001");
  EXPECT_EQ(request.command.front(), "/usr/bin/mpirun");
  EXPECT_THAT(request.command, IsSupersetOf({"--oversubscribe", "-np", "4", "/opt/perfbench-engine"}));
  EXPECT_EQ(request.environment.at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(request.environment.at("OMP_PROC_BIND"), "false");
}

TEST(Launcher, GivesEveryRankAtLeastOneThreadAndLetsThemYield) {
  const auto request = on_eight_cores().request(with_ranks(16), "/runs/001");
  EXPECT_EQ(request.environment.at("OMP_NUM_THREADS"), "1");
  EXPECT_EQ(request.environment.at("OMP_WAIT_POLICY"), "passive");
}

TEST(Launcher, LetsWaitingThreadsSleepEarlySoThatOtherWorkOnTheMachineCostsLittle) {
  const auto request = on_eight_cores().request(with_ranks(1), "/runs/001");
  EXPECT_EQ(request.environment.at("GOMP_SPINCOUNT"), "2000");
  EXPECT_EQ(request.environment.at("OMP_PROC_BIND"), "false");
}

TEST(Launcher, KeepsTheUsersThreadSettings) {
  setenv("OMP_PROC_BIND", "close", 1);
  const auto request = on_eight_cores().request(with_ranks(1), "/runs/001");
  unsetenv("OMP_PROC_BIND");
  EXPECT_FALSE(request.environment.contains("OMP_PROC_BIND"));
}

TEST(Launcher, PutsLibrariesBeforeTheUsersOnEveryRank) {
  unsetenv("LD_LIBRARY_PATH");  // may be set where the tests run
  auto launcher = on_eight_cores();
  EXPECT_FALSE(launcher.request(with_ranks(1), "/runs/001").environment.contains("LD_LIBRARY_PATH"));
  launcher.engine.libraries = "/kept";
  EXPECT_EQ(launcher.request(with_ranks(1), "/runs/001").environment.at("LD_LIBRARY_PATH"), "/kept");
  setenv("LD_LIBRARY_PATH", "/mine", 1);
  const auto request = launcher.request(with_ranks(2), "/runs/001");
  unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(request.environment.at("LD_LIBRARY_PATH"), "/kept:/mine");
  EXPECT_THAT(request.command, Contains("LD_LIBRARY_PATH"));
}

spec::ProgramSpec program_with_ranks(spec::LaunchedBy launcher, const std::string& count) {
  spec::ProgramSpec program;
  program.command = {"./train"};
  program.env = {{"MINE", "1"}};
  program.ranks = {launcher, count};
  return program;
}

TEST(ProgramRanks, BeginTheCommandWithTheirLauncher) {
  setenv("PERFBENCH_MPIRUN", "/opt/mpirun", 1);
  auto program = program_with_ranks(spec::LaunchedBy::mpirun, "4");
  launch_ranks(program);
  unsetenv("PERFBENCH_MPIRUN");
  EXPECT_EQ(program.command.front(), "/opt/mpirun");
  EXPECT_EQ(program.command.back(), "./train");
  EXPECT_THAT(program.command, IsSupersetOf({"-np", "4", "-x", "MINE", "--tag-output"}));

  program = program_with_ranks(spec::LaunchedBy::program, "");
  launch_ranks(program);
  EXPECT_THAT(program.command, ElementsAre("./train"));
}

TEST(ProgramRanks, SayWhatIsMissing) {
  const auto problem = [](spec::LaunchedBy launcher, const std::string& count) {
    auto program = program_with_ranks(launcher, count);
    try {
      launch_ranks(program);
    } catch (const LaunchError& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  for (const auto* count : {"", "0", "-1", "two", "2x", "99999999999999999999"}) {
    EXPECT_THAT(problem(spec::LaunchedBy::mpirun, count), HasSubstr("ranks.count is '" + std::string(count) + "'"));
  }
  const std::string path = getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  EXPECT_THAT(problem(spec::LaunchedBy::mpirun, "2"), HasSubstr("need mpirun"));
  EXPECT_THAT(problem(spec::LaunchedBy::srun, "2"), HasSubstr("need srun"));
  setenv("PATH", path.c_str(), 1);
}

TEST(Launcher, TakesTheThreadsThatTheRunAsksFor) {
  auto run = with_ranks(1);
  run.threads_per_rank = 3;
  EXPECT_EQ(on_eight_cores().request(run, "/runs/001").environment.at("OMP_NUM_THREADS"), "3");
}

// Open MPI fails without such a program, although ranks on one node never use it.
TEST(Launcher, NamesAnotherProgramWhereThereIsNoSsh) {
  const fs::path folder = fs::path(::testing::TempDir()) / "launcher_test.path";
  fs::create_directories(folder);
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder.c_str(), 1);
  const auto without = on_eight_cores().request(with_ranks(2), "/runs/001");
  std::ofstream(folder / "ssh") << "#!/bin/sh\n";
  fs::permissions(folder / "ssh", fs::perms::owner_all);
  const auto with = on_eight_cores().request(with_ranks(2), "/runs/001");
  fs::remove(folder / "ssh");
  setenv("OMPI_MCA_plm_rsh_agent", "mine", 1);
  const auto own = on_eight_cores().request(with_ranks(2), "/runs/001");
  unsetenv("OMPI_MCA_plm_rsh_agent");
  setenv("PATH", path.c_str(), 1);
  fs::remove_all(folder);
  EXPECT_EQ(without.environment.at("OMPI_MCA_plm_rsh_agent"), "/bin/sh");
  EXPECT_FALSE(with.environment.contains("OMPI_MCA_plm_rsh_agent"));
  EXPECT_FALSE(own.environment.contains("OMPI_MCA_plm_rsh_agent"));
}

TEST(Launcher, SaysHowToGetAMissingMpirun) {
  Launcher launcher = on_eight_cores();
  launcher.mpirun.reset();
  EXPECT_NO_THROW(launcher.request(with_ranks(1), "/runs/001"));
  try {
    launcher.request(with_ranks(2), "/runs/001");
    FAIL() << "two ranks without mpirun";
  } catch (const LaunchError& e) {
    EXPECT_THAT(e.what(), HasSubstr("openmpi-bin"));
  }
}

class LogTail : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) / (std::string("launcher_test.") + info->name());
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  fs::path root_;
};

TEST_F(LogTail, LeavesOutFramesAndBlankLines) {
  write("engine.log", "one\n-----------\n\ntwo\n   \nthree\n----\n");
  EXPECT_THAT(log_tail(root_ / "engine.log", 2), ElementsAre("two", "three"));
  EXPECT_TRUE(log_tail(root_ / "absent.log", 2).empty());
}

TEST_F(LogTail, DistinguishesMessagesOfTheLauncherFromOtherLines) {
  const auto frame = std::string(74, '-') + "\n";
  write("engine.log", "loading\n" + frame + "The value was set to a path\nthat could not be found:\n\n  agent: ssh\n" +
                          frame + "[vm:7] trace\n" + frame + "Primary job ended.\n" + frame);
  EXPECT_THAT(launcher_messages(root_ / "engine.log"),
              ElementsAre("The value was set to a path that could not be found: agent: ssh", "Primary job ended."));
  write("cut.log", "the rest of a message\n" + frame + "a line of the engine\n" + frame + "second\n" + frame);
  EXPECT_THAT(launcher_messages(root_ / "cut.log"), ElementsAre("second"));
  EXPECT_TRUE(launcher_messages(root_ / "absent.log").empty());
}

TEST_F(LogTail, ReadsOnlyTheEndOfALongLog) {
  write("engine.log", std::string(5'000'000, 'x') + "\nlast\n");
  EXPECT_THAT(log_tail(root_ / "engine.log", 1), ElementsAre("last"));
}

}  // namespace
}  // namespace perfbench::harness
