#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/parallel/processes.h"

namespace perfbench::engine {
namespace {

// Under ctest, GoogleTest runs each case in its own process; the guard is for runs by hand.
class LaunchedRanks : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

 private:
  static void clear() {
    for (const char* name :
         {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "PMIX_NAMESPACE", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"}) {
      ::unsetenv(name);
    }
  }
};

TEST_F(LaunchedRanks, IsOneWithoutALauncher) {
  EXPECT_EQ(launched_ranks(), 1);
}

TEST_F(LaunchedRanks, ReadsTheSizeThatEachLauncherNames) {
  ::setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  EXPECT_EQ(launched_ranks(), 4);
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
  ::setenv("PMI_SIZE", "8", 1);
  EXPECT_EQ(launched_ranks(), 8);
}

TEST_F(LaunchedRanks, TakesSlurmsCountOnlyInsideAStep) {
  ::setenv("SLURM_NTASKS", "16", 1);
  EXPECT_EQ(launched_ranks(), 1) << "a batch script has the variable too";
  ::setenv("PMIX_RANK", "0", 1);
  EXPECT_EQ(launched_ranks(), 16);
}

TEST_F(LaunchedRanks, IgnoresValuesThatAreNotPositiveNumbers) {
  for (const char* text : {"", "0", "-2", "many", "4x"}) {
    ::setenv("OMPI_COMM_WORLD_SIZE", text, 1);
    EXPECT_EQ(launched_ranks(), 1) << text;
  }
}

}  // namespace
}  // namespace perfbench::engine
