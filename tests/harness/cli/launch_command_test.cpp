// Attempts in jobs of launchers. A script stands in for Slurm, ssh and podman: its jobs are processes of this machine.
// (ci/slurm.py uses a real Slurm.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/execute/machine_lock.h"
#include "tests/harness/cli/run_perfbench.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

constexpr const char* kMatrix = R"(name: m
program:
  command: [sh, -c, 'while [ -e "{cwd}/hold.{n}" ]; do sleep 0.02; done; echo {n}']
axes: {n: [1, 2, 3]}
)";

constexpr const char* kSsh = R"(#!/bin/sh
echo "$@" >> "$CALLS"
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
)";

constexpr const char* kPodman = R"(#!/bin/sh
echo "$@" >> "$CALLS"
[ "$1 $2" != 'image inspect' ] || { echo image-id; exit; }
[ "$1" = run ] || exit 0
while [ "$1" != worker ]; do shift; done
exec "$PERFBENCH" "$@"
)";

class LaunchCommand : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(jobs_);
    fs::create_directories(dir_ / "bin");
    std::ofstream(dir_ / "m.yaml") << kMatrix;
  }
  void have(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / "bin" / name) << text;
    fs::permissions(dir_ / "bin" / name, fs::perms::owner_all);
  }
  void have_slurm() {
    for (const auto* name : {"sbatch", "squeue", "scontrol", "scancel"}) {
      fs::create_symlink(PERFBENCH_SOURCE_DIR "/tests/harness/cli/stand_in_slurm.py", dir_ / "bin" / name);
    }
    controller_.emplace(
        ProcessRequest{.command = {"python3", PERFBENCH_SOURCE_DIR "/tests/harness/cli/stand_in_slurm.py"},
                       .environment = variables()});
  }
  std::map<std::string, std::string> variables() const {
    return {{"PERFBENCH_DB", "p.db"},
            {"JOBS", jobs_.string()},
            {"CALLS", (dir_ / "calls").string()},
            {"PERFBENCH", PERFBENCH_BINARY_DIR "/bin/perfbench"},
            {"PATH", (dir_ / "bin").string() + ":" + std::getenv("PATH")}};
  }
  std::vector<std::string> sweep_words(std::vector<std::string> more) const {
    more.insert(more.begin(), {"sweep", "m.yaml", "--launcher", "slurm"});
    return more;
  }
  ProcessEnd sweep(const std::vector<std::string>& more = {}) const {
    return run_perfbench(sweep_words(more), dir_, variables());
  }
  // The attempts that the database has, by cell.
  std::multimap<std::string, std::string> states() const {
    std::multimap<std::string, std::string> out;
    for (const auto& record : records()) out.emplace(record["cell"], record["state"]);
    return out;
  }
  std::vector<Json> records() const {
    std::vector<Json> out;
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(dir_ / "p.runs", none)) {
      if (entry.path().filename() == "attempt.json") out.push_back(Json::parse(std::ifstream(entry.path())));
    }
    return out;
  }
  static std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string calls() const { return text_of(dir_ / "calls"); }
  Json job(int number) const { return Json::parse(std::ifstream(jobs_ / (std::to_string(number) + ".json"))); }
  void hold(const std::string& cell) const { std::ofstream(dir_ / ("hold." + cell)); }
  void release(const std::string& cell) const { fs::remove(dir_ / ("hold." + cell)); }
  void wait_until(const std::function<bool()>& condition) const {
    for (const auto from = std::chrono::steady_clock::now(); !condition();) {
      ASSERT_LT(std::chrono::steady_clock::now() - from, std::chrono::minutes(1));
      std::this_thread::yield();
    }
  }
  bool has_begun(int task) const {
    const auto name = "begun." + std::to_string(task) + ".json";
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(dir_ / "p.runs", none)) {
      if (entry.path().filename() == name) return true;
    }
    return false;
  }

  const ScratchFolder scratch_;
  const fs::path dir_ = fs::canonical(scratch_.path());
  const fs::path jobs_ = dir_ / "jobs";
  std::optional<Process> controller_;
};

TEST_F(LaunchCommand, ASweepRunsInOneJobAndRecordsIt) {
  have_slurm();
  const auto end =
      run_perfbench({"sweep", "m.yaml", "--launcher", "slurm:gpu", "--launch-option=--gres=gpu:8"}, dir_, variables());
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("3 ok"));
  const auto words = job(1)["words"].get<std::vector<std::string>>();
  EXPECT_THAT(words, AllOf(Contains("--partition=gpu"), Contains("--gres=gpu:8"), Contains("--no-requeue")));
  EXPECT_FALSE(fs::exists(jobs_ / "2.json"));
  for (const auto& record : records()) {
    EXPECT_EQ(record["job"], Json::parse(R"({"launcher": "slurm", "job": "1", "nodes": "n7"})"));
  }
  const auto shown = run_perfbench({"show", records().front()["run_id"], "--format", "markdown"}, dir_, variables());
  EXPECT_THAT(shown.output, HasSubstr("| slurm 1 on n7 |"));
  EXPECT_TRUE(fs::exists(fs::path(job(1)["log"].get<std::string>()).parent_path() / "closed"));
}

TEST_F(LaunchCommand, AllAttemptsOfACellRunInOneOfSeveralJobs) {
  have_slurm();
  EXPECT_EQ(sweep({"--jobs", "2", "--repeats", "2"}).exit_code, 0);
  std::map<std::string, std::set<std::string>> jobs;
  for (const auto& record : records()) jobs[record["cell"]].insert(record["job"]["job"]);
  EXPECT_THAT(jobs,
              ElementsAre(Pair("n=1", ElementsAre("1")), Pair("n=2", ElementsAre("2")), Pair("n=3", ElementsAre("1"))));
}

TEST_F(LaunchCommand, AJobAtItsTimeLimitLosesItsAttemptAndAnotherTakesTheRest) {
  have_slurm();
  hold("2");
  std::ofstream(jobs_ / "end") << "begun.1.json TIMEOUT";
  const auto end = sweep();
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_THAT(states(), ElementsAre(Pair("n=1", "ok"), Pair("n=2", "timed_out"), Pair("n=3", "ok")));
  for (const auto& record : records()) {
    EXPECT_EQ(record["job"]["nodes"], "n7");
    EXPECT_EQ(record["job"]["job"], record["cell"] == "n=3" ? "2" : "1");
  }
  EXPECT_THAT(end.error_output,
              AllOf(HasSubstr("Slurm job 1 (TIMEOUT) ended on n7 after 0 steps"), HasSubstr("submitted Slurm job 2")));
}

TEST_F(LaunchCommand, APreemptedJobIsNotTakenForTheWishOfTheUser) {
  have_slurm();
  hold("2");
  std::ofstream(jobs_ / "end") << "begun.1.json PREEMPTED";
  const auto end = sweep();
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_THAT(states(), ElementsAre(Pair("n=1", "ok"), Pair("n=2", "cancelled"), Pair("n=3", "ok")));
  EXPECT_THAT(end.output, Not(HasSubstr("cancelled; `--resume`")));
}

// Slurm first sends SIGTERM to a job at its time limit. The worker cannot know why.
TEST_F(LaunchCommand, TheLauncherSaysWhyAJobWasTerminated) {
  have_slurm();
  hold("1");
  std::ofstream(jobs_ / "end") << "begun.0.json DEADLINE";
  EXPECT_EQ(sweep().exit_code, 4);
  EXPECT_THAT(states(), ElementsAre(Pair("n=1", "timed_out")));
}

TEST_F(LaunchCommand, ACancelledJobEndsTheSweepAndResumeContinues) {
  have_slurm();
  hold("2");
  std::ofstream(jobs_ / "end") << "begun.1.json CANCELLED";
  const auto end = sweep();
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_THAT(states(), ElementsAre(Pair("n=1", "ok"), Pair("n=2", "cancelled")));
  EXPECT_THAT(end.error_output, HasSubstr("Slurm job 1 (CANCELLED) ended on n7 after 0 steps"));
  EXPECT_FALSE(fs::exists(jobs_ / "2.json"));
  release("2");
  const auto resumed = sweep({"--resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.error_output;
  EXPECT_THAT(states(), ElementsAre(Pair("n=1", "ok"), Pair("n=2", "cancelled"), Pair("n=2", "ok"), Pair("n=3", "ok")));
}

TEST_F(LaunchCommand, ResumeAttachesToTheJobOfAKilledSweep) {
  have_slurm();
  hold("2");
  {
    auto words = sweep_words({});
    words.insert(words.begin(), PERFBENCH_BINARY_DIR "/bin/perfbench");
    Process killed({.command = words, .working_dir = dir_, .environment = variables()});
    wait_until([&] { return has_begun(1); });
    kill(killed.pid(), SIGKILL);
    killed.wait({});
  }
  const auto elsewhere = run_perfbench({"sweep", "m.yaml", "--resume"}, dir_, variables());
  EXPECT_EQ(elsewhere.exit_code, 3);
  EXPECT_THAT(elsewhere.error_output, HasSubstr("add --launcher slurm to continue it"));
  auto words = sweep_words({"--resume"});
  words.insert(words.begin(), PERFBENCH_BINARY_DIR "/bin/perfbench");
  const auto said = dir_ / "said";
  Process resumed({.command = words, .working_dir = dir_, .environment = variables(), .output_file = said});
  wait_until([&] { return text_of(said).find("attached to Slurm job 1") != std::string::npos; });
  release("2");
  EXPECT_EQ(resumed.wait({}).exit_code, 0) << text_of(said);
  EXPECT_THAT(states(), ElementsAre(Pair("n=1", "ok"), Pair("n=2", "ok"), Pair("n=3", "ok")));
  EXPECT_FALSE(fs::exists(jobs_ / "2.json"));
}

// The worker would otherwise wait for tasks of a harness that is gone.
TEST_F(LaunchCommand, ASessionThatWasClosedBeforeItsJobStartedDoesNothing) {
  have_slurm();
  EXPECT_EQ(sweep().exit_code, 0);
  const auto folder = fs::path(job(1)["log"].get<std::string>()).parent_path();
  fs::remove(folder / "done.0.json");
  const auto end = run_perfbench({"worker", folder.string()}, dir_, variables());
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_FALSE(fs::exists(folder / "done.0.json"));
}

TEST_F(LaunchCommand, AJobThatIsStartedAgainRepeatsItsAttemptAndRecordsTheLostOne) {
  have_slurm();
  EXPECT_EQ(sweep().exit_code, 0);
  const auto folder = fs::path(job(1)["log"].get<std::string>()).parent_path();
  const auto begun = Json::parse(std::ifstream(folder / "begun.1.json"));
  const fs::path lost = begun["directory"].get<std::string>();
  for (const auto& file : {folder / "closed", folder / "done.1.json", lost / "attempt.json"}) fs::remove(file);
  EXPECT_EQ(run_perfbench({"worker", folder.string()}, dir_, variables()).exit_code, 0);
  EXPECT_THAT(states(), ElementsAre(Pair("n=1", "ok"), Pair("n=2", "cancelled"), Pair("n=2", "ok"), Pair("n=3", "ok")));
  const auto record = Json::parse(std::ifstream(lost / "attempt.json"));
  EXPECT_EQ(record["reason"], "its job was started again");
  EXPECT_EQ(record["started_utc"], begun["started_utc"]);
}

TEST_F(LaunchCommand, APairRunsInOneJob) {
  have_slurm();
  const auto end = run_perfbench(
      {"compare", "--ab", "cmd:true", "cmd:true", "--launcher", "slurm", "--pairs", "4", "--format", "json"}, dir_,
      variables());
  EXPECT_THAT(end.output, HasSubstr(R"("apart_because": "--launcher slurm")")) << end.error_output;
  EXPECT_EQ(records().size(), 8U);
  EXPECT_FALSE(fs::exists(jobs_ / "2.json"));
}

TEST_F(LaunchCommand, SshRunsItsWorkerOnEachHost) {
  have("ssh", kSsh);
  const auto end = run_perfbench({"sweep", "m.yaml", "--launcher", "ssh:a,b", "--jobs", "2"}, dir_, variables());
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_THAT(calls(), AllOf(HasSubstr("-tt -o BatchMode=yes -o ServerAliveInterval=15 a -- /"), HasSubstr(" b -- /")));
  EXPECT_THAT(states(), ElementsAre(Pair("n=1", "ok"), Pair("n=2", "ok"), Pair("n=3", "ok")));
}

TEST_F(LaunchCommand, AContainerMountsTheRunsAndIsRemoved) {
  have("podman", kPodman);
  const auto end = run_perfbench(
      {"sweep", "m.yaml", "--launcher", "podman", "--image", "localhost/perfbench", "--launch-option=--memory=1g"},
      dir_, variables());
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  const auto runs = (dir_ / "p.runs").string();
  EXPECT_THAT(calls(), AllOf(HasSubstr("run --rm --init --pull=never --name=pb-"),
                             HasSubstr(" --volume=" + runs + ":" + runs +
                                       " --user=0:0 --memory=1g --entrypoint=perfbench "
                                       "localhost/perfbench worker " +
                                       runs + "/sessions/pb-"),
                             HasSubstr("rm --force pb-")));
  for (const auto& record : records()) EXPECT_EQ(record["job"]["image"], "image-id");
  const auto shown = run_perfbench({"show", records().front()["run_id"], "--format", "markdown"}, dir_, variables());
  EXPECT_THAT(shown.output, HasSubstr(" in image-id |"));
}

TEST_F(LaunchCommand, ALauncherThatCannotWorkIsRefusedWithTheReason) {
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"sweep", "m.yaml"});
    const auto end = run_perfbench(words, dir_, {{"PATH", (dir_ / "bin").string()}, {"PERFBENCH_DB", "p.db"}});
    EXPECT_EQ(end.exit_code, 3) << end.error_output;
    return end.error_output;
  };
  EXPECT_THAT(refused({"--launcher", "slrum"}), HasSubstr("there is no launcher 'slrum' (did you mean 'slurm'?)"));
  EXPECT_THAT(refused({"--launcher", "ssh"}), HasSubstr("ssh needs a host"));
  EXPECT_THAT(refused({"--launcher", "local:x"}), HasSubstr("local takes nothing after a colon"));
  EXPECT_THAT(refused({"--launcher", "slurm"}), HasSubstr("sbatch is not in PATH"));
  EXPECT_THAT(refused({"--launcher", "ssh:a", "--image", "x"}),
              HasSubstr("--image: it is for --launcher podman, docker or kubernetes"));
  EXPECT_THAT(refused({"--launcher", "podman"}), HasSubstr("name an image that has perfbench with --image"));
  EXPECT_THAT(refused({"--launcher", "kubernetes"}), HasSubstr("kubectl is not in PATH"));
  have("kubectl", "#!/bin/sh\n");
  EXPECT_THAT(refused({"--launcher", "kubernetes"}), HasSubstr("kubernetes.image in site.yaml"));
  EXPECT_THAT(refused({"--launcher", "kubernetes", "--image", "x"}), HasSubstr("{claim: results, folder: /mnt"));
  have("ssh", kSsh);
  EXPECT_THAT(refused({"--launcher", "ssh:-oProxyCommand=x"}), HasSubstr("is not the name of a host"));
  EXPECT_THAT(refused({"--jobs", "2"}), HasSubstr("--jobs"));
}

// This srun has the options that perfbench gives to Slurm's, and starts the tasks of all nodes here.
constexpr const char* kSrun = R"(#!/bin/sh
[ "$1 $2 $3 $4 $5 $6" = '--ntasks=2 --label --kill-on-bad-exit=1 --nodes=2 --ntasks-per-node=1 --export=ALL' ] || exit 9
shift 6
for node in 0 1; do SLURM_NODEID=$node "$@" | sed "s/^/$node: /"; done
)";

constexpr const char* kNodeMatrix = R"(name: nodes
program:
  command: [sh, -c, 'echo "node $1/$NODE of $COORDINATOR, $2"; for i in 0 1 2 3; do
            echo "iter $i: loss 2.0, time 50.1ms, mfu -100.00%"; done', sh, '{node_rank}', '{{node}}']
  env: {NODE: '{node_rank}', COORDINATOR: '{coordinator}:6000'}
  reader: nanogpt
work: {dcn_dp: 2}
)";

// Inside a job of two nodes.
TEST_F(LaunchCommand, AProgramOfSeveralNodesIsStartedOnEachWithItsNumber) {
  have("srun", kSrun);
  std::ofstream(dir_ / "m.yaml") << kNodeMatrix;
  auto job = variables();
  job.insert({{"SLURM_JOB_NUM_NODES", "2"}, {"SLURMD_NODENAME", "n7"}});
  const auto end = run_perfbench({"sweep", "m.yaml"}, dir_, job);
  ASSERT_EQ(end.exit_code, 0) << end.output << end.error_output;
  std::string log;
  for (const auto& entry : fs::recursive_directory_iterator(dir_ / "p.runs")) {
    if (entry.path().filename() == "program.log") log += text_of(entry.path());
  }
  EXPECT_THAT(log, AllOf(HasSubstr("0: node 0/0 of n7:6000, {node}\n"), HasSubstr("1: node 1/1 of n7:6000, {node}\n")));

  auto of_salloc = job;  // its command runs on another machine
  of_salloc.erase("SLURMD_NODENAME");
  const auto outside = run_perfbench({"sweep", "m.yaml", "--db", "salloc.db"}, dir_, of_salloc);
  EXPECT_THAT(outside.output + outside.error_output, HasSubstr("--launcher slurm"));

  job["SLURM_JOB_NUM_NODES"] = "1";
  const auto refused = run_perfbench({"sweep", "m.yaml", "--db", "one.db"}, dir_, job);
  EXPECT_THAT(refused.output + refused.error_output, HasSubstr("--launcher slurm"));
}

TEST_F(LaunchCommand, ASecondSweepOnAMachineWaitsForTheFirst) {
  MachineLock first(dir_ / "lock");
  ASSERT_EQ(first.hold("perfbench first", {}), LockOutcome::held);
  auto with_lock = variables();
  with_lock["PERFBENCH_LOCK"] = (dir_ / "lock").string();
  EXPECT_EQ(run_perfbench({"sweep", "m.yaml", "--no-lock"}, dir_, with_lock).exit_code, 0);
  for (const auto& record : records()) EXPECT_EQ(record["without_lock"], true);
  fs::remove_all(dir_ / "p.runs");
  const auto said = dir_ / "said";
  Process second({.command = {PERFBENCH_BINARY_DIR "/bin/perfbench", "sweep", "m.yaml"},
                  .working_dir = dir_,
                  .environment = with_lock,
                  .output_file = said});
  wait_until([&] { return text_of(said).find("waiting for perfbench first of ") != std::string::npos; });
  EXPECT_TRUE(records().empty());
  { const MachineLock ended(std::move(first)); }
  EXPECT_EQ(second.wait({}).exit_code, 0) << text_of(said);
  for (const auto& record : records()) EXPECT_FALSE(record.contains("without_lock"));
}

TEST_F(LaunchCommand, TheSiteSaysWhatEveryJobNeeds) {
  have_slurm();
  std::ofstream(dir_ / "site.yaml") << "slurm: {partition: gpu, options: [--gres=gpu:8]}\n";
  auto with_site = variables();
  with_site["PERFBENCH_SITE"] = (dir_ / "site.yaml").string();
  EXPECT_EQ(run_perfbench(sweep_words({"--only", "n=1", "--launch-option=--time=60"}), dir_, with_site).exit_code, 0);
  const auto words = job(1)["words"].get<std::vector<std::string>>();
  EXPECT_THAT(words, AllOf(Contains("--partition=gpu"), Contains("--gres=gpu:8"), Contains("--time=60")));
}

TEST_F(LaunchCommand, PairsInAnImageAreRefused) {
  const auto end = run_perfbench({"compare", "--ab", "cmd:true", "cmd:true", "--launcher", "podman", "--image", "x"},
                                 dir_, variables());
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, HasSubstr("an image has one engine, and pairs need two"));
}

TEST_F(LaunchCommand, ARefusedJobIsTold) {
  have_slurm();
  std::ofstream(jobs_ / "refuse");
  const auto end = sweep();
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_THAT(end.error_output, HasSubstr("sbatch refused the job: sbatch: error: invalid partition specified"));
  EXPECT_THAT(end.output, Not(HasSubstr("crashed")));
}

}  // namespace
}  // namespace perfbench::harness
