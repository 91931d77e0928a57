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
#include "workloads/spec/dry_counts.h"
#include "workloads/spec/operation_work.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
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
  // Tests run in parallel.
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("main_dry_command_test." + std::to_string(getpid()));
};

// With a list of every tensor.
std::string whole_line(const spec::RunSpec& run) {
  auto report = dry_walk(run, 0);
  report.course = memory_course(run, 0);
  return to_json_line(report);
}

TEST_F(DryCommand, ListsTheLargestTensorsOfEachStage) {
  auto run = gpt_tiny();
  run.mesh.ici.pp = 2;
  run.grad_accum = 2;
  const auto file = file_of("run", run);
  const auto whole = spec::parse_dry_counts(lines_of_program({PERFBENCH_ENGINE_FILE, "dry", file}).at(0));
  ASSERT_THAT(whole.stages, SizeIs(2)) << whole.reason;
  EXPECT_THAT(whole.course, Not(SizeIs(0)));
  for (const auto& stage : whole.stages) {
    const auto groups = spec::group_tensors(dry_walk(run, stage.rank).live_at_peak);
    ASSERT_THAT(stage.largest, SizeIs(8));
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(stage.largest[i].name, groups[i].name);
  }
  const auto brief = lines_of_program({PERFBENCH_ENGINE_FILE, "dry", "--largest", "3", file});
  const auto some = spec::parse_dry_counts(brief.at(0));
  EXPECT_THAT(some.largest, SizeIs(3));
  EXPECT_THAT(some.course, SizeIs(0)) << "a plan of many cells need not hold it";
  EXPECT_THAT(some.stages.at(0).largest, SizeIs(0));
}

TEST_F(DryCommand, PrintsTheOperationsOfEachRun) {
  auto llama = llama_tiny();
  llama.mesh.ici.fsdp = 2;
  const auto lines = lines_of_program(
      {PERFBENCH_ENGINE_FILE, "dry", "--operations", "--rank", "1", file_of("a", llama), file_of("b", gpt_tiny())});
  // Errors are not buffered, so they come first if both go to one pipe.
  ASSERT_THAT(lines,
              UnorderedElementsAre(to_json_line(count_operations(llama, 1)), HasSubstr("is outside a mesh of 1")));
}

TEST_F(DryCommand, SaysThatOperationsHaveNoTensors) {
  const auto lines =
      lines_of_program({PERFBENCH_ENGINE_FILE, "dry", "--operations", "--largest", "3", file_of("a", llama_tiny())});
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.front(), HasSubstr("--operations lists no tensors; leave out --largest"));
  const auto forms = lines_of_program({PERFBENCH_ENGINE_FILE, "dry", "--forms", file_of("a", llama_tiny())});
  EXPECT_THAT(forms.front(), HasSubstr("--forms is for --operations"));
}

TEST_F(DryCommand, TakesARunFromEachLineAndNamesAnInvalidLine) {
  const auto file = file_of("runs", spec::canonical_json(llama_tiny()) + "\n{\n" + spec::canonical_json(gpt_tiny()));
  const auto lines = lines_of_program({PERFBENCH_ENGINE_FILE, "dry", "--lines", file});
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0], whole_line(llama_tiny()));
  EXPECT_THAT(lines[1], HasSubstr(file + ":2 : not JSON"));
  EXPECT_EQ(lines[2], whole_line(gpt_tiny()));
  EXPECT_THAT(lines_of_program({PERFBENCH_ENGINE_FILE, "dry", file}), ElementsAre(HasSubstr(file + " : not JSON")))
      << "one run without it";
}

TEST_F(DryCommand, IsInTheHelp) {
  EXPECT_THAT(lines_of_program({PERFBENCH_ENGINE_FILE, "--help"}), testing::Contains(HasSubstr("dry --operations")));
}

}  // namespace
}  // namespace perfbench::engine
