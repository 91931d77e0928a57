// perfbench-engine run --turns, as a program: it takes no step before its turn.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/engine_program.h"
#include "tests/engine/example_runs.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/turn_files.h"

namespace perfbench::engine {
namespace {

using testing::Contains;
using testing::HasSubstr;

class TurnsOfAnEngine : public testing::Test {
 protected:
  TurnsOfAnEngine() {
    std::filesystem::create_directories(folder_);
    auto run = gpt_tiny();
    run.steps = 3;
    std::ofstream(folder_ / "run.json") << spec::canonical_json(run);
  }
  ~TurnsOfAnEngine() override { std::filesystem::remove_all(folder_); }

  int fifo(const std::string& name) {
    const auto file = folder_ / name;
    mkfifo(file.c_str(), 0600);
    return open(file.c_str(), O_RDWR | O_CLOEXEC);
  }
  std::vector<std::string> run_engine() {
    return lines_of_program({PERFBENCH_ENGINE_FILE, "run", "--dir", folder_.string(), "--turns", folder_.string()});
  }
  std::ptrdiff_t steps_done() {
    std::ifstream in(folder_ / "steps.rank0.jsonl");
    return std::count(std::istreambuf_iterator<char>(in), {}, '\n');
  }
  static char next_byte(int fd) {
    char byte = 0;
    return read(fd, &byte, 1) == 1 ? byte : '?';
  }

  // Tests run in parallel.
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("main_turns_test." + std::to_string(getpid()));
};

TEST_F(TurnsOfAnEngine, ItAsksBeforeEachStepAndBeforeItEnds) {
  const int asks = fifo(spec::kTurnAsksFile);
  const int go = fifo(spec::turn_go_file(0));
  std::vector<std::string> said;
  std::thread engine([&] { said = run_engine(); });
  for (std::ptrdiff_t done = 0; done <= 3; ++done) {
    next_byte(asks);
    EXPECT_EQ(steps_done(), done);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "result.json"));
    EXPECT_EQ(write(go, "t", 1), 1);
  }
  engine.join();
  EXPECT_TRUE(std::filesystem::exists(folder_ / "result.json")) << testing::PrintToString(said);
  close(asks);
  close(go);
}

TEST_F(TurnsOfAnEngine, AMissingFifoIsRefused) {
  EXPECT_THAT(run_engine(), Contains(HasSubstr("go.0: No such file or directory")));
  close(fifo(spec::turn_go_file(0)));
  std::ofstream(folder_ / spec::kTurnAsksFile) << "a file\n";
  EXPECT_THAT(run_engine(), Contains(HasSubstr("asks: it is not a FIFO")));
  EXPECT_EQ(steps_done(), 0);
}

}  // namespace
}  // namespace perfbench::engine
