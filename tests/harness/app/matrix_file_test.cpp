#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/app/sweep/planned_sweep.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

const std::filesystem::path kDataFolder = PERFBENCH_SOURCE_DIR;

TEST(MatrixFile, IsFoundByItsNameAmongTheInstalledOnes) {
  EXPECT_EQ(matrix_name({.file = "quickstart"}, kDataFolder), "quickstart");
  EXPECT_EQ(matrix_name({.file = "matrices/quickstart.yaml"}, kDataFolder), "quickstart");
  EXPECT_THROW(matrix_name({.file = "quickstrat"}, kDataFolder), InputError);
}

TEST(MatrixFile, AtThePathComesBeforeAnInstalledOne) {
  ScratchFolder scratch;
  std::filesystem::create_directories(scratch / "matrices");
  write_text(scratch / "matrices/mine.yaml", "name: installed\n");
  write_text(scratch / "mine", "name: here\n");
  EXPECT_EQ(matrix_name({.file = scratch / "mine"}, scratch.path()), "here");
  EXPECT_EQ(matrix_name({.file = "mine"}, scratch.path()), "here") << "a path below the folder of data";
  std::filesystem::remove(scratch / "mine");
  EXPECT_EQ(matrix_name({.file = "mine"}, scratch.path()), "installed");
}

}  // namespace
}  // namespace perfbench::harness
