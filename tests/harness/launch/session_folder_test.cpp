#include "harness/launch/session_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/launch/session.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Mark = SessionFolder::Mark;

class SessionFolderTest : public testing::Test {
 protected:
  SessionFolder session(const std::string& sweep, const std::string& matrix, SweepKind kind = SweepKind::hand) const {
    const auto path = sessions_folder(scratch_.path()) / ("pb-" + sweep);
    fs::create_directories(path);
    SessionFolder out(path);
    out.write(SessionRecord{.session_id = "pb-" + sweep,
                            .sweep_id = sweep,
                            .sweep_kind = kind,
                            .matrix = matrix,
                            .begun_utc = "2026-01-31T12:00:00Z",
                            .working_dir = "/w",
                            .launch = {.launcher = "slurm", .place = "gpu", .options = {"--gres=gpu:8"}}});
    return out;
  }
  std::vector<std::string> open_ones(const std::string& matrix, const std::string& since) const {
    std::vector<std::string> out;
    for (const auto& folder : open_sessions(scratch_.path(), matrix, since)) {
      out.push_back(folder.path().filename().string());
    }
    return out;
  }

  const ScratchFolder scratch_;
};

TEST_F(SessionFolderTest, ATaskBecomesTheSameCellAndSettings) {
  Cell example{.matrix = "m", .axes = {{"fsdp", "1"}, {"remat", "none"}}, .label = "fsdp=1 remat=none"};
  example.run = example_spec();
  example.run_id = run_id(example.run);
  example.program_repo = "/repo";
  ExecutionSettings settings;
  settings.launcher.engine = {"/opt/engine", "/opt/lib"};
  settings.launcher.engine_arguments = {"--inject", "slow:span=matmul,fraction=0.5"};
  settings.time_limit = std::chrono::seconds(7);
  settings.memory_limit_bytes = 123;
  settings.sweep_id = "s";
  settings.sweep_kind = SweepKind::comparison;
  settings.engine_sha256 = std::string(64, 'e');
  settings.only = "fsdp=2";
  const auto folder = session("s", "m");
  folder.write(0, task_of(example, settings));
  EXPECT_FALSE(folder.task(1));
  const auto [cell, read] = parts_of(folder.task(0).value(), "/runs");
  EXPECT_EQ(cell.run_id, example.run_id);
  EXPECT_EQ(run_id(cell.run), example.run_id);
  EXPECT_EQ(cell.program_repo, "/repo");
  EXPECT_EQ(read.launcher.engine, settings.launcher.engine);
  EXPECT_EQ(read.launcher.engine_arguments, settings.launcher.engine_arguments);
  EXPECT_EQ(read.time_limit, settings.time_limit);
  EXPECT_EQ(read.memory_limit_bytes, 123);
  EXPECT_EQ(read.runs, "/runs");
  auto there = new_record(cell, read, 3);
  auto here = new_record(example, settings, 3);
  there.started_utc = here.started_utc;
  EXPECT_EQ(to_json_line(there), to_json_line(here));
}

TEST_F(SessionFolderTest, OnlyOpenSessionsOfTheSweepAreFound) {
  session("2026-1", "m");
  session("2026-2", "m").set(Mark::closed);
  session("2026-3", "m");
  session("2026-4", "another");
  session("2026-5", "m", SweepKind::comparison);  // its pairs are lost with their harness
  EXPECT_THAT(open_ones("m", ""), ElementsAre("pb-2026-1", "pb-2026-3"));
  EXPECT_THAT(open_ones("m", "2026-3"), ElementsAre("pb-2026-3"));
  EXPECT_THAT(open_sessions(scratch_ / "none", "m", ""), IsEmpty());
}

TEST_F(SessionFolderTest, ADamagedFileIsNamed) {
  const auto folder = session("s", "m");
  std::ofstream(folder.path() / "task.0.json") << "{";
  try {
    folder.task(0);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("task.0.json"));
  }
  std::ofstream(folder.path() / "session.json") << "{\"colour\": 1}";
  EXPECT_THAT(open_ones("m", ""), IsEmpty());
  try {
    folder.session();
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("colour"));
  }
}

TEST_F(SessionFolderTest, SignsChange) {
  const auto folder = session("s", "m");
  EXPECT_EQ(folder.last(SessionFolder::Sign::alive), "");
  folder.give(SessionFolder::Sign::alive, 1);
  folder.give(SessionFolder::Sign::working, 7);
  EXPECT_EQ(folder.last(SessionFolder::Sign::alive), "1");
  EXPECT_EQ(folder.last(SessionFolder::Sign::working), "7");
}

}  // namespace
}  // namespace perfbench::harness
