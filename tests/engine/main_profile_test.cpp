// A profile of timed steps, made by perfbench-engine as a program.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tests/engine/engine_program.h"
#include "tests/engine/example_runs.h"
#include "tests/spec/step_record.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;

class ProfileOfAnEngine : public testing::Test {
 protected:
  ~ProfileOfAnEngine() override { fs::remove_all(scratch_); }

  // Runs in its own folder.
  fs::path run_engine(const std::string& name, const spec::RunSpec& run) {
    const auto folder = scratch_ / name;
    fs::create_directories(folder);
    std::ofstream(folder / "run.json") << spec::canonical_json(run);
    said_ = lines_of_program({PERFBENCH_ENGINE_FILE, "run", "--dir", folder.string()});
    return folder;
  }
  static std::vector<std::string> lines(const fs::path& file) {
    std::ifstream in(file);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  static std::vector<spec::StepRecord> records(const fs::path& folder) {
    std::vector<spec::StepRecord> all;
    for (const auto& line : lines(folder / "steps.rank0.jsonl")) all.push_back(spec::parse_step_record(line));
    return all;
  }

  std::vector<std::string> said_;
  // Tests run in parallel.
  const fs::path scratch_ = fs::path(testing::TempDir()) / ("main_profile_test." + std::to_string(getpid()));
};

TEST_F(ProfileOfAnEngine, MarksItsStepsAndLeavesTheOthersAndTheTrainingAlone) {
  auto run = gpt_tiny();
  run.steps = 8;
  const auto plain = records(run_engine("plain", run));
  run.profile = {.first_step = 5, .steps = 2};
  const auto folder = run_engine("profiled", run);
  const auto profiled = records(folder);
  ASSERT_EQ(plain.size(), 8U) << testing::PrintToString(said_);
  ASSERT_EQ(profiled.size(), 8U) << testing::PrintToString(said_);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(profiled[i].loss, plain[i].loss);
    EXPECT_EQ(profiled[i].grad_norm, plain[i].grad_norm);
    EXPECT_EQ(profiled[i].peak.total_bytes, plain[i].peak.total_bytes);
    EXPECT_EQ(plain[i].traced, 0);
    EXPECT_EQ(profiled[i].traced, i == 5 || i == 6 ? 1 : 0) << i;
  }
  EXPECT_FALSE(fs::exists(scratch_ / "plain/trace.rank0.jsonl"));
  std::set<std::int64_t> traced;
  spec::TraceEnd end;
  for (const auto& line : lines(folder / "trace.rank0.jsonl")) {
    const auto parsed = spec::parse_trace_line(line);
    if (const auto* event = std::get_if<spec::TraceEvent>(&parsed)) {
      traced.insert(event->step);
    } else {
      end = std::get<spec::TraceEnd>(parsed);
    }
  }
  EXPECT_EQ(traced, (std::set<std::int64_t>{5, 6}));
  EXPECT_EQ(end.steps, 2);
  EXPECT_EQ(end.dropped_records, 0);
}

}  // namespace
}  // namespace perfbench::engine
