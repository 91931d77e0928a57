#include <gtest/gtest.h>

#include <memory>
#include <string_view>

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
  // "messages": ranks exchange data as those of several nodes do, in parts.
  perfbench::engine::MpiOptions options;
  if (argc > 1 && std::string_view(argv[1]) == "messages") {
    options = {.on_node = perfbench::engine::OnNode::messages, .largest_message_bytes = 65'536};
  }
  perfbench::engine::processes = perfbench::engine::make_mpi_processes(options);
  // A rank whose test fails continues with the same collectives as the others, so that all of them end.
  const int failed = RUN_ALL_TESTS();
  perfbench::engine::processes.reset();
  return failed;
}
