#include <gtest/gtest.h>

#include <memory>

#include "tests/mpi/mpi_world.h"

namespace perfbench::engine {
namespace {

std::unique_ptr<Processes> processes;

}  // namespace

Processes& world() {
  return *processes;
}

}  // namespace perfbench::engine

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  perfbench::engine::processes = perfbench::engine::make_mpi_processes();
  // A rank whose test fails goes on to the same collectives as the others, so all of them end.
  const int failed = RUN_ALL_TESTS();
  perfbench::engine::processes.reset();
  return failed;
}
