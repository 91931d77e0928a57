// Commands that write or move files: launch, push, backup and restore.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/harness/cli/run_perfbench.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

constexpr const char* kTwoPrograms = R"(name: m
program:
  command: [sh, -c, 'echo "step {n}" > "$0"', '{run_dir}/out']
axes: {n: [1, 2]}
)";

class FileCommands : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(dir_);
    write_text(dir_ / "m.yaml", kTwoPrograms);
  }
  ProcessEnd run(const std::vector<std::string>& words) const {
    return run_perfbench(words, dir_, {{"PERFBENCH_SITE", (dir_ / "site.yaml").string()}, {"HOME", dir_.string()}});
  }
  ProcessEnd launch(std::vector<std::string> more) const {
    write_text(dir_ / "site.yaml", "slurm: {partition: gpu}\n");
    more.insert(more.begin(), {"launch", "m.yaml"});
    return run(more);
  }

  const ScratchFolder scratch_;
  const fs::path dir_ = scratch_ / "test";
};

TEST_F(FileCommands, AScriptOfLaunchRunsItsCell) {
  const auto written = launch({"--render", "slurm", "--only", "n=2", "--into", "jobs"});
  ASSERT_EQ(written.exit_code, 0) << written.error_output;
  ASSERT_THAT(written.output, MatchesRegex("jobs/m-[0-9a-f]{8}.sub\n"));
  // This stand-in has no nodes: srun starts the script once.
  write_text(dir_ / "srun", "#!/bin/sh\nwhile [ \"$1\" != -c ]; do shift; done\nexec sh -c \"$2\"\n");
  fs::permissions(dir_ / "srun", fs::perms::owner_all);
  const auto job = dir_ / written.output.substr(0, written.output.size() - 1);
  const auto end = run_process({.command = {"bash", job.string()},
                                .working_dir = dir_,
                                .environment = {{"PATH", dir_.string() + ":" + std::getenv("PATH")},
                                                {"PERFBENCH_RUN_DIR", (dir_ / "results").string()},
                                                {"SLURM_NODEID", "0"}}});
  ASSERT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_EQ(read_text(dir_ / "results" / "out"), "step 2\n");
}

TEST_F(FileCommands, SeveralFilesOfLaunchBeginWithTheirNames) {
  const auto scripts = launch({"--render", "slurm"});
  EXPECT_EQ(scripts.exit_code, 0) << scripts.error_output;
  EXPECT_THAT(scripts.output, AllOf(StartsWith("### m-"), HasSubstr("\n\n### m-"), HasSubstr("--partition=gpu")));
  const auto manifests = launch({"--render", "jobset", "--image", "i", "--resource", "x=2"});
  EXPECT_THAT(manifests.output, AllOf(HasSubstr("\n---\n# m: n=2"), Not(HasSubstr("###")), HasSubstr("x: 2\n")));
}

TEST_F(FileCommands, LaunchRefusesWhatNoFileCanExpress) {
  const auto without_image = launch({"--render", "docker"});
  EXPECT_EQ(without_image.exit_code, 3);
  EXPECT_THAT(without_image.error_output, AllOf(HasSubstr("left out, n=1: "), HasSubstr("no cell has a launch file")));
  for (const auto& words :
       {std::vector<std::string>{}, {"--render", "pbs"}, {"--render", "slurm", "--resource", "x"}}) {
    EXPECT_EQ(launch(words).exit_code, 3);
  }
}

TEST_F(FileCommands, PushNamesWhatIsMissing) {
  const auto line = run({"push", "--new-key", "node7"});
  EXPECT_EQ(line.exit_code, 0) << line.error_output;
  EXPECT_THAT(line.output, MatchesRegex("node7 [0-9a-f]{64}\n"));
  const auto file = dir_ / ".config/perfbench/push.key";
  EXPECT_EQ(read_text(file), line.output);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(run({"push", "--new-key", "node7"}).exit_code, 3) << "a key is not replaced";
  const auto other = run({"push", "--new-key", "node8", "--key", "other.key"});
  EXPECT_EQ(other.exit_code, 0);
  EXPECT_THAT(run({"push"}).error_output, HasSubstr("name the server"));
  fs::remove(file);
  const auto without_key = run({"push", "http://127.0.0.1:1"});
  EXPECT_EQ(without_key.exit_code, 3);
  EXPECT_THAT(without_key.error_output, HasSubstr(".config/perfbench/push.key"));
  write_text(dir_ / "keys", line.output + other.output);
  fs::permissions(dir_ / "keys", fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(run({"push", "http://127.0.0.1:1", "--key", "keys"}).error_output, HasSubstr("keys of several machines"));
  EXPECT_THAT(run({"serve", "--db", "t.db", "--accept", "absent"}).error_output, HasSubstr("absent cannot be read"));
}

TEST_F(FileCommands, ADatabaseIsBackedUpAndRestored) {
  ASSERT_EQ(run({"run", "--db", "p.db", "--no-lock", "--", "true"}).exit_code, 0);
  const auto backed_up = run({"backup", "copy.db", "--db", "p.db"});
  EXPECT_EQ(backed_up.exit_code, 0) << backed_up.error_output;
  EXPECT_THAT(backed_up.output, StartsWith("copy.db: "));
  EXPECT_EQ(run({"restore", "copy.db", "--db", "p.db"}).exit_code, 3);
  EXPECT_EQ(run({"restore", "copy.db", "--db", "new.db"}).exit_code, 0);
  EXPECT_EQ(run({"list", "--db", "new.db", "--format", "csv"}).output,
            run({"list", "--db", "p.db", "--format", "csv"}).output);
  EXPECT_EQ(run({"backup", "m.yaml", "--db", "p.db"}).exit_code, 3);
  EXPECT_EQ(run({"backup", "copy.db", "--db", "absent.db"}).exit_code, 3);
}

}  // namespace
}  // namespace perfbench::harness
