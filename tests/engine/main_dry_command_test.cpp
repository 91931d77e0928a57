// perfbench-engine dry --operations and --lines, as a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/train/dry_walk.h"
#include "tests/engine/engine_program.h"
#include "tests/engine/example_runs.h"
#include "workloads/spec/operation_work.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class DryCommand : public testing::Test {
 protected:
  DryCommand() { std::filesystem::create_directories(folder_); }
  ~DryCommand() override { std::filesystem::remove_all(folder_); }

  std::string file_of(const char* name, const std::string& text) {
    const auto path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  std::string file_of(const char* name, const spec::RunSpec& run) { return file_of(name, spec::canonical_json(run)); }

 private:
  // Tests run beside each other.
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("main_dry_command_test." + std::to_string(getpid()));
};

TEST_F(DryCommand, PrintsTheOperationsOfEachRun) {
  auto llama = llama_tiny();
  llama.mesh.ici.fsdp = 2;
  const auto lines = lines_of_program(
      {PERFBENCH_ENGINE_FILE, "dry", "--operations", "--rank", "1", file_of("a", llama), file_of("b", gpt_tiny())});
  // Errors are not buffered, and come first where both go to one pipe.
  ASSERT_THAT(lines,
              UnorderedElementsAre(to_json_line(count_operations(llama, 1)), HasSubstr("is outside a mesh of 1")));
}

TEST_F(DryCommand, SaysThatOperationsHaveNoTensors) {
  const auto lines =
      lines_of_program({PERFBENCH_ENGINE_FILE, "dry", "--operations", "--largest", "3", file_of("a", llama_tiny())});
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.front(), HasSubstr("--operations lists no tensors; leave out --largest"));
}

TEST_F(DryCommand, TakesARunFromEachLineAndNamesTheLineThatIsNone) {
  const auto file = file_of("runs", spec::canonical_json(llama_tiny()) + "\n{\n" + spec::canonical_json(gpt_tiny()));
  const auto lines = lines_of_program({PERFBENCH_ENGINE_FILE, "dry", "--lines", file});
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0], to_json_line(dry_walk(llama_tiny(), 0)));
  EXPECT_THAT(lines[1], HasSubstr(file + ":2 : not JSON"));
  EXPECT_EQ(lines[2], to_json_line(dry_walk(gpt_tiny(), 0)));
  EXPECT_THAT(lines_of_program({PERFBENCH_ENGINE_FILE, "dry", file}), ElementsAre(HasSubstr(file + " : not JSON")))
      << "one run without it";
}

TEST_F(DryCommand, IsInTheHelp) {
  EXPECT_THAT(lines_of_program({PERFBENCH_ENGINE_FILE, "--help"}), testing::Contains(HasSubstr("dry --operations")));
}

}  // namespace
}  // namespace perfbench::engine
