// Training programs other than perfbench-engine, really measured by the commands of perfbench.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/execute/launcher.h"
#include "harness/execute/process.h"
#include "tests/harness/cli/run_perfbench.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

const std::string kTrainer = PERFBENCH_SOURCE_DIR "/tests/programs/trainer.py";

class ProgramCommand : public testing::Test {
 protected:
  ProcessEnd perfbench(const std::vector<std::string>& arguments,
                       std::map<std::string, std::string> environment = {}) const {
    environment["PERFBENCH_DB"] = "p.db";
    return run_perfbench(arguments, dir_, environment);
  }
  // `perfbench run` with the trainer, which prints simulated times and takes no time.
  ProcessEnd run(std::vector<std::string> options, const std::vector<std::string>& trainer = {}) const {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", "python3", kTrainer, "--made-up", "--dialect", "nanogpt", "--steps", "20"});
    options.insert(options.end(), trainer.begin(), trainer.end());
    return perfbench(options);
  }
  Json rows() const {
    const auto end = perfbench({"report", "--sweep", "all", "--format", "json"});
    EXPECT_TRUE(end.succeeded()) << end.error_output;
    auto out = Json::parse(end.output)["rows"];
    // Cells of one second come in the order in which the database took them in.
    std::sort(out.begin(), out.end(), [](const Json& a, const Json& b) { return a["cell"] < b["cell"]; });
    return out;
  }

  const ScratchFolder scratch_;
  const fs::path dir_ = scratch_.path();
};

TEST_F(ProgramCommand, RunMeasuresAProgramAndReportsWhatItSaid) {
  const auto end = run({"--repeats", "2", "--reader", "nanogpt", "--work", "seq_len=128", "--work", "global_batch=4"});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("command=trainer.py"));
  EXPECT_THAT(end.output, HasSubstr("2 ok"));
  const auto row = rows().at(0);
  EXPECT_EQ(row["runs"], 2);
  EXPECT_NEAR(row["step_time_s"].get<double>(), 0.0101, 1e-9);  // the trainer's clock makes steps of 10.0 to 10.2 ms
  EXPECT_NEAR(row["tokens_per_s"].get<double>(), 4 * 128 / row["step_time_mean_s"].get<double>(), 1e-6);
  EXPECT_GT(row["wall_time_s"].get<double>(), 0);
  for (const auto* unsaid : {"size", "precision", "mfu_fraction", "attention"}) EXPECT_TRUE(row[unsaid].is_null());
}

TEST_F(ProgramCommand, AStoredBaselineIsComparedByWhatTheProgramDeclares) {
  std::ofstream(dir_ / "words.yaml")
      << "name: words\nprogram:\n  command: [python3, -c, 'import sys; print(\"words\", open(sys.argv[1]).read())', '" +
             (dir_ / "words").string() +
             "']\n"
             "  metrics: {words_per_s: {regex: 'words (?P<value>[0-9.]+)', better: higher}}\n";
  const auto sweep = [&](const char* words) {
    std::ofstream(dir_ / "words") << words;
    const auto end = perfbench({"sweep", "words.yaml", "--repeats", "2"});
    EXPECT_EQ(end.exit_code, 0) << end.error_output;
  };
  sweep("200");
  EXPECT_EQ(perfbench({"baseline", "set", "first", "--reason", "a test", "--author", "me"}).exit_code, 0);
  sweep("150");
  const auto named = perfbench({"compare", "--baseline", "first", "--metric", "words_per_s", "--format", "json"});
  EXPECT_EQ(named.exit_code, 2) << named.error_output << "two sessions do not show how far sessions differ";
  const auto row = Json::parse(named.output)["cells"].at(0);
  EXPECT_EQ(row["metric"], "words_per_s");
  EXPECT_NEAR(row["ratio"].get<double>(), 0.75, 1e-9);
  const auto metrics_of = [&](const std::string& metric) {
    const auto end = perfbench({"compare", "--baseline", "first", "--metric", metric, "--format", "json"});
    std::vector<std::string> out;
    const auto found = Json::parse(end.output);
    for (const auto& cell : found["cells"]) out.push_back(cell["metric"]);
    return out;
  };
  EXPECT_THAT(metrics_of("gate"), testing::ElementsAre("resident_bytes", "words_per_s"))
      << "neither what this program lacks nor what perfbench-engine has";
  EXPECT_THAT(metrics_of("gate,wall_time_s"), testing::ElementsAre("resident_bytes", "words_per_s", "wall_time_s"));
  EXPECT_THAT(metrics_of("words_per_s,wall_time_s"), testing::ElementsAre("words_per_s", "wall_time_s"))
      << "what is named is judged";
  const auto unknown = perfbench({"compare", "--baseline", "first", "--metric", "words_per_"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.error_output, HasSubstr("did you mean 'words_per_s'?"));
  EXPECT_THAT(perfbench({"compare", "--baseline", "first", "--metric", "step_time_s,gat"}).error_output,
              HasSubstr("did you mean 'gate'?"));
}

TEST_F(ProgramCommand, RunWithoutAReaderMeasuresWallTime) {
  EXPECT_EQ(perfbench({"run", "--repeats", "1", "--", "true"}).exit_code, 0);
  const auto row = rows().at(0);
  EXPECT_TRUE(row["step_time_s"].is_null());
  EXPECT_GT(row["wall_time_s"].get<double>(), 0);
}

TEST_F(ProgramCommand, FailuresAreStatesWithReasons) {
  const auto missing = perfbench({"run", "--repeats", "1", "--", "no-such-program"});
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_THAT(missing.output, HasSubstr("it is not in PATH"));
  const auto short_of = run({"--repeats", "1", "--reader", "nanogpt", "--steps", "30"});
  EXPECT_EQ(short_of.exit_code, 4);
  EXPECT_THAT(short_of.output, HasSubstr("quarantined: it ended well, but its records say 20 of 30 steps"));
  const auto crashed = run({"--repeats", "1", "--reader", "nanogpt"}, {"--crash-after", "5", "--exit-code", "3"});
  EXPECT_EQ(crashed.exit_code, 4);  // never the program's own exit code, which is one of perfbench-engine's codes
  EXPECT_THAT(crashed.output, HasSubstr("crashed"));
}

TEST_F(ProgramCommand, BracesOfACommandMeanThemselves) {
  const auto end =
      perfbench({"run", "--repeats", "1", "--", "python3", "-c",
                 "import sys; open(sys.argv[1] + '/seen', 'w').write(sys.argv[2])", "{run_dir}", R"({"a": {}})"});
  EXPECT_EQ(end.exit_code, 0) << end.error_output << end.output;
  std::string seen;
  for (const auto& entry : fs::recursive_directory_iterator(dir_ / "p.runs")) {
    if (entry.path().filename() == "seen") std::getline(std::ifstream(entry.path()) >> std::ws, seen);
  }
  EXPECT_EQ(seen, R"({"a": {}})");
}

TEST_F(ProgramCommand, AProgramOfOtherBytesIsAnotherSubject) {
  const auto script = dir_ / "train.py";
  const auto measure = [&](const std::string& text) {
    std::ofstream(script) << text;
    EXPECT_EQ(perfbench({"run", "--repeats", "1", "--", "python3", script.string()}).exit_code, 0);
  };
  measure("pass\n");
  measure("pass  # changed\n");
  EXPECT_EQ(rows().size(), 2U);  // equal commands, but numbers that are not pooled
  measure("pass\n");
  EXPECT_EQ(rows().size(), 2U);
}

TEST_F(ProgramCommand, OtherPackagesAreAnotherSubject) {
  const auto path = (dir_ / "site").string();
  const auto measure = [&](const std::string& version, const std::vector<std::string>& by_env = {}) {
    const auto folder = dir_ / "site/torch.dist-info";
    fs::create_directories(folder);
    std::ofstream(folder / "METADATA") << "Metadata-Version: 2.1\nName: Torch\nVersion: " << version << "\n";
    std::vector<std::string> command{"run", "--repeats", "1", "--"};
    command.insert(command.end(), by_env.begin(), by_env.end());
    command.insert(command.end(), {"python3", "-c", "pass"});
    const auto end = perfbench(command, {{"PYTHONPATH", by_env.empty() ? path : ""}});
    EXPECT_EQ(end.exit_code, 0) << end.error_output;
  };
  measure("2.4.0");
  measure("2.5.1");
  EXPECT_EQ(rows().size(), 2U);
  EXPECT_THAT(perfbench({"report", "--sweep", "all"}).output, HasSubstr("| program "));
  EXPECT_THAT(perfbench({"show", "latest"}).output, testing::ContainsRegex("torch *[|]? *2.5.1"));
  measure("2.4.0");
  EXPECT_EQ(rows().size(), 2U);
  measure("2.6.0", {"env", "PYTHONPATH=" + path});
  EXPECT_THAT(perfbench({"show", "latest"}).output, testing::ContainsRegex("torch *[|]? *2.6.0"));
}

// A Python that answers nothing still runs the program.
TEST_F(ProgramCommand, PackagesThatCannotBeListedAreUnknown) {
  std::ofstream(dir_ / "python3") << "#!/bin/sh\n[ \"$1\" = -c ] && [ \"$2\" != pass ] && exit 1\nexit 0\n";
  fs::permissions(dir_ / "python3", fs::perms::owner_all);
  const auto end = perfbench({"run", "--repeats", "1", "--", (dir_ / "python3").string(), "-c", "pass"});
  EXPECT_EQ(end.exit_code, 0) << end.error_output << end.output;
  EXPECT_THAT(perfbench({"show", "latest"}).output, testing::ContainsRegex("packages *[|]? *unknown"));
}

TEST_F(ProgramCommand, MatrixOfAProgramIsSweptResumedAndExported) {
  std::ofstream(dir_ / "m.yaml") << "name: toy\nprogram:\n  command: [python3, " + kTrainer +
                                        ", --made-up, --dialect, nanogpt, --steps, '{steps}', --step-time, '{time}']\n"
                                        "  reader: nanogpt\n  steps: 20\naxes: {time: [0.01, 0.02]}\n";
  EXPECT_EQ(perfbench({"sweep", "m.yaml"}).exit_code, 0);
  EXPECT_THAT(perfbench({"sweep", "m.yaml", "--resume"}).error_output, HasSubstr("2 of 2 cells are already done"));
  const auto before = rows();
  ASSERT_EQ(before.size(), 2U);
  EXPECT_NEAR(before[1]["step_time_s"].get<double>() / before[0]["step_time_s"].get<double>(), 2, 1e-9);
  ASSERT_TRUE(perfbench({"export", "all.perfbench"}).succeeded());
  fs::remove(dir_ / "p.db");
  ASSERT_TRUE(perfbench({"import", "all.perfbench"}).succeeded());
  EXPECT_EQ(rows(), before);
  fs::remove(dir_ / "p.db");
  ASSERT_TRUE(perfbench({"ingest", "p.runs"}).succeeded());
  EXPECT_EQ(rows(), before);
}

class ProgramRanks : public ProgramCommand {
 protected:
  // A trainer of three ranks, each of which prints every step.
  void write_matrix(const std::string& launcher) const {
    std::ofstream(dir_ / "m.yaml") << "name: ranks\nprogram:\n  command: [python3, " + kTrainer +
                                          ", --made-up, --dialect, nanogpt, --steps, '20']\n"
                                          "  reader: nanogpt\n  steps: 20\n  ranks: {launched_by: " +
                                          launcher + "}\nwork: {dp: 3}\n";
  }
  void expect_steps_of_three_ranks(const ProcessEnd& sweep) const {
    ASSERT_EQ(sweep.exit_code, 0) << sweep.output << sweep.error_output;
    EXPECT_NEAR(rows().at(0)["step_time_s"].get<double>(), 0.0101, 1e-9);
    EXPECT_THAT(perfbench({"show", "latest"}).output, HasSubstr("3 ranks printed records"));
  }
};

TEST_F(ProgramRanks, AreStartedByMpirun) {
  if (!find_mpirun()) GTEST_SKIP() << "no mpirun in PATH";
  write_matrix("mpirun");
  // Python then writes the end of a line on its own, and mpirun may put text of another rank before it.
  expect_steps_of_three_ranks(perfbench({"sweep", "m.yaml"}, {{"PYTHONUNBUFFERED", "1"}}));
}

// This srun has the options that perfbench gives to Slurm's, and starts all ranks here.
TEST_F(ProgramRanks, AreStartedBySrun) {
  fs::create_directories(dir_ / "bin");
  std::ofstream(dir_ / "bin/srun")
      << "#!/bin/sh\n[ \"$1 $2 $3\" = '--ntasks=3 --label --kill-on-bad-exit=1' ] || exit 9\n"
         "shift 3\nfor rank in 0 1 2; do \"$@\" | sed \"s/^/$rank: /\"; done\n";
  fs::permissions(dir_ / "bin/srun", fs::perms::owner_all);
  write_matrix("srun");
  const auto path = (dir_ / "bin").string() + ":" + getenv("PATH");
  expect_steps_of_three_ranks(perfbench({"sweep", "m.yaml"}, {{"PATH", path}}));
  EXPECT_TRUE(rows().at(0)["resident_bytes"].is_null()) << "memory of other nodes is not known";
}

TEST_F(ProgramCommand, AResumedSweepRemembersItsProgram) {
  fs::create_directories(dir_ / "repo");
  fs::copy_file(kTrainer, dir_ / "repo/train.py");
  std::ofstream(dir_ / "toy.yaml")
      << "name: toy\ntitle: Toy\nsources: [x]\nprogram:\n"
         "  command: [python3, '{repo}/train.py', --made-up, --dialect, nanogpt, --steps, "
         "'{steps}']\n  env: {SHAPE: '{model} {seq_len} {global_batch}'}\n  reader: nanogpt\n";
  std::ofstream(dir_ / "m.yaml")
      << "name: m\ndefaults: {model: gpt-mini, steps: 20, global_batch: 1}\naxes: {seq_len: [8, 16]}\n";
  const auto begun = perfbench({"sweep", "m.yaml", "--program", "./toy.yaml", "--program-repo", "repo"});
  EXPECT_EQ(begun.exit_code, 0) << begun.error_output << begun.output;
  fs::create_directories(dir_ / "other");
  fs::current_path(dir_ / "other");  // where neither ./toy.yaml nor repo is
  const auto resumed = run_process(
      {.command = {PERFBENCH_BINARY_DIR "/bin/perfbench", "sweep", "../m.yaml", "--resume", "--db", "../p.db"}});
  fs::current_path(dir_);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.error_output;
  EXPECT_THAT(resumed.error_output, HasSubstr("--program " + (dir_ / "toy.yaml").string()));
  EXPECT_THAT(resumed.error_output, HasSubstr("2 of 2 cells are already done"));
  const auto other = perfbench({"sweep", "m.yaml", "--resume", "--program", "nanogpt"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.error_output, HasSubstr("toy.yaml, but the request has --program nanogpt"));
}

TEST_F(ProgramCommand, TwoCommandsAreComparedInPairs) {
  const auto compare = [&](const std::string& more) {
    const auto command = "cmd:python3 " + kTrainer + " --made-up --dialect nanogpt --steps 20";
    return perfbench({"compare", "--ab", command, command + more, "--reader", "nanogpt", "--pairs", "8",
                      "--most-foreign", "1", "--most-steal", "1", "--format", "json"});
  };
  const auto slower = compare(" --slow 0.05");
  EXPECT_EQ(slower.exit_code, 1) << slower.error_output;
  const auto metric = Json::parse(slower.output)["cells"][0]["metrics"][0];
  EXPECT_EQ(metric["metric"], "step_time_s");
  EXPECT_EQ(metric["verdict"], "REGRESSED");
  EXPECT_NEAR(metric["ratio"].get<double>(), 1.05, 0.003);  // times of 10 ms are printed to 0.01 ms
  const auto same = Json::parse(compare("").output)["cells"][0]["metrics"][0];
  EXPECT_EQ(same["verdict"], "SAME");
}

TEST_F(ProgramCommand, SidesThatDoNotFitAreRefused) {
  const auto said = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"compare", "--ab"});
    const auto end = perfbench(arguments);
    EXPECT_EQ(end.exit_code, 3);
    return end.error_output;
  };
  EXPECT_THAT(said({"cmd:true", "current"}), HasSubstr("give two sides cmd:"));
  EXPECT_THAT(said({"cmd:", "cmd:true"}), HasSubstr("'cmd:' needs a command"));
  EXPECT_THAT(said({"cmd:echo 'a", "cmd:true"}), HasSubstr("without its end"));
  std::ofstream(dir_ / "m.yaml") << "name: m\nprogram: {command: ['true']}\n";
  EXPECT_THAT(said({"env:", "current", "m.yaml"}), HasSubstr("env:NAME=VALUE"));
  EXPECT_THAT(said({"cmd:true", "cmd:true", "m.yaml"}), HasSubstr("leave FILE out"));
  EXPECT_THAT(said({"inject:slow:span=matmul,fraction=0.5", "current", "m.yaml"}), HasSubstr("another program"));
}

// The commits of a repository whose program has to be built before it runs.
class ProgramRevisions : public ProgramCommand {
 protected:
  void SetUp() override {
    fs::create_directories(dir_ / "repo");
    git({"init", "-q", "-b", "main"});
    std::ofstream(dir_ / "m.yaml") << "name: revisions\nprogram:\n  command: [python3, built.py]\n"
                                      "  repo: {path: repo, build: [[cp, train.py, built.py]]}\n"
                                      "  reader: nanogpt\n";
  }
  std::string git(std::vector<std::string> arguments) const {
    const std::vector<std::string> start{"git",           "-C", (dir_ / "repo").string(),    "-c",
                                         "user.name=ada", "-c", "user.email=ada@example.org"};
    arguments.insert(arguments.begin(), start.begin(), start.end());
    const auto end = run_process({.command = arguments});
    EXPECT_TRUE(end.succeeded()) << end.error_output;
    return end.output;
  }
  void commit(const std::string& subject, double step_ms) const {
    std::ofstream(dir_ / "repo/train.py")
        << "import random\nfor i in range(20):\n    took = " << step_ms << " * random.gauss(1, 0.002)\n"
        << "    print(f'iter {i}: loss 4.0000, time {took:.2f}ms, mfu 1.00%', flush=True)\n";
    git({"add", "-A"});
    git({"commit", "-q", "--allow-empty", "-m", subject});
  }
};

TEST_F(ProgramRevisions, AreBuiltByTheRecipeOfTheMatrixAndCompared) {
  commit("quick", 100);
  commit("slow", 110);
  const auto end = perfbench({"compare", "--ab", "rev:HEAD~1", "HEAD", "m.yaml", "--pairs", "8", "--most-foreign", "1",
                              "--most-steal", "1", "--build-cache", "cache"});
  EXPECT_EQ(end.exit_code, 1) << end.output << end.error_output;
  EXPECT_THAT(end.output, testing::ContainsRegex("step_time_s *[|] REGRESSED"));
  EXPECT_THAT(git({"status", "--porcelain"}), testing::IsEmpty()) << "the repository itself is not built";
  // Both commits are subjects of their own.
  const auto list = perfbench({"list", "runs", "--format", "json"});
  for (const auto* revision : {"HEAD~1", "HEAD"}) {
    EXPECT_THAT(list.output, HasSubstr(git({"rev-parse", "--short=8", revision}).substr(0, 8)));
  }
}

TEST_F(ProgramRevisions, AreBisected) {
  commit("one", 100);
  commit("two", 100);
  commit("the culprit", 110);
  commit("four", 110);
  const auto end = perfbench({"bisect", "HEAD~3", "HEAD", "m.yaml", "--pairs", "8", "--most-foreign", "1",
                              "--most-steal", "1", "--build-cache", "cache"});
  EXPECT_EQ(end.exit_code, 1) << end.output << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("the culprit"));
}

// Nights of the program as it lies in the repository, without a build.
class ProgramNights : public ProgramRevisions {
 protected:
  void SetUp() override {
    ProgramRevisions::SetUp();
    write_matrix("  repo: {path: repo}\n  command: [python3, train.py]\n");
  }
  void write_matrix(const std::string& program) const {
    std::ofstream(dir_ / "n.yaml") << "name: nights\nprogram:\n  reader: nanogpt\n" << program;
  }
  ProcessEnd night(std::vector<std::string> more = {"--no-control"}) const {
    more.insert(more.begin(),
                {"nightly", "n.yaml", "--most-foreign", "1", "--most-steal", "1", "--build-cache", "cache"});
    return perfbench(more);
  }
};

TEST_F(ProgramNights, CompareWithTheCommitOfTheLastGoodNight) {
  commit("quick", 100);
  const auto first = night();
  EXPECT_EQ(first.exit_code, 2) << first.error_output;
  EXPECT_THAT(first.output, HasSubstr("its first night"));
  commit("just as quick", 100);
  const auto same = night();
  EXPECT_EQ(same.exit_code, 0) << same.output << same.error_output;
  commit("slow", 110);
  const auto slow = night();
  EXPECT_EQ(slow.exit_code, 1) << slow.error_output;
  EXPECT_THAT(slow.output,
              testing::AllOf(testing::ContainsRegex("step_time_s [|] +[+](9.9|10)"), HasSubstr("] regression, ")));
  EXPECT_THAT(slow.output, HasSubstr("compared with the program of "));
}

TEST_F(ProgramNights, JudgeWhatTheProgramDeclares) {
  write_matrix(
      "  repo: {path: repo}\n  command: [python3, train.py]\n"
      "  metrics: {words_per_s: {regex: 'words (?P<value>[0-9.]+)', better: higher}}\n");
  const auto write = [&](const std::string& words) {
    std::ofstream(dir_ / "repo/train.py") << "import random\nfor i in range(20):\n    noise = random.gauss(1, 0.002)\n"
                                             "    print(f'iter {i}: loss 4.0, time {100 * noise:.2f}ms, mfu 1.0%')\n"
                                             "    print(f'words {"
                                          << words << " * noise:.3f}')\n";
    git({"add", "-A"});
    git({"commit", "-q", "-m", words + " words"});
  };
  write("200");
  ASSERT_EQ(night().exit_code, 2);
  write("180");
  const auto end = night();
  EXPECT_EQ(end.exit_code, 1) << end.error_output;
  EXPECT_THAT(end.output,
              testing::AllOf(testing::ContainsRegex("words_per_s [|] +-(9.9|10)"), HasSubstr("] regression, ")));
  const auto row = rows().at(0);
  EXPECT_NEAR(row["words_per_s"].get<double>(), 200, 40);
  EXPECT_THAT(perfbench({"report", "--sweep", "all"}).output, HasSubstr("words_per_s"));
  const auto history = perfbench({"history", "--metric", "words_per_s"});
  EXPECT_THAT(history.output, HasSubstr("History of words_per_s"));
  EXPECT_THAT(perfbench({"history", "--metric", "word_per_s"}).error_output,
              HasSubstr("No program that these nights ran declares it"));
}

TEST_F(ProgramNights, SayWhyAnEarlierVersionIsNotCompared) {
  commit("one", 100);
  ASSERT_EQ(night().exit_code, 2);
  const auto unchanged = night();
  EXPECT_EQ(unchanged.exit_code, 2);
  EXPECT_THAT(unchanged.output, HasSubstr("by its commit, its files and its packages: it did not change"));
  std::ofstream(dir_ / "repo/train.py", std::ios::app) << "# changed\n";
  EXPECT_EQ(night().exit_code, 0) << "the last good night's commit is compared with the checkout";
  std::ofstream(dir_ / "repo/train.py", std::ios::app) << "# changed again\n";
  EXPECT_THAT(night().output, HasSubstr("was not a commit of a repository without other changes"));
  git({"checkout", "-q", "train.py"});
  write_matrix("  repo: {path: repo, build: [['false']]}\n  command: [python3, train.py]\n");
  EXPECT_EQ(night().exit_code, 2);
  commit("two", 100);
  EXPECT_THAT(night().output, HasSubstr("The program of the last good night did not run"));
}

TEST_F(ProgramNights, WithoutARepositoryConfirmNothing) {
  const auto script = dir_ / "train.py";
  write_matrix("  command: [python3, '" + script.string() + "']\n");
  const auto write = [&](const std::string& rest) {
    std::ofstream(script) << "for i in range(20):\n    print(f'iter {i}: loss 4.0, time 100.00ms, mfu 1.0%')\n" << rest;
  };
  write("");
  ASSERT_EQ(night().exit_code, 2);
  write("# another version\n");
  const auto end = night();
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.output, HasSubstr("was not a commit of a repository"));
  // Another file that the script reads may have changed.
  EXPECT_THAT(night().output, HasSubstr("only a repository tells whether others did"));
}

// Without a reader there is no step time, and the wall time describes the cell.
TEST_F(ProgramNights, JudgeTheWallTimeOfAProgramThatSaysNothing) {
  std::ofstream(dir_ / "n.yaml") << "name: nights\nprogram:\n  command: [sh, train.sh]\n  repo: {path: repo}\n";
  const auto write = [&](const std::string& time_s) {
    std::ofstream(dir_ / "repo/train.sh") << "sleep " << time_s << "\n";
    git({"add", "-A"});
    git({"commit", "-q", "-m", time_s + " s"});
  };
  write("0.1");
  EXPECT_THAT(night().output, HasSubstr("its first night"));
  write("0.4");
  const auto end = night();
  EXPECT_EQ(end.exit_code, 1) << end.output << end.error_output;
  EXPECT_THAT(end.output, testing::AllOf(testing::ContainsRegex("wall_time_s [|] +[+]2"), HasSubstr("] regression, ")));
}

// A cell whose batch contradicts its mesh runs nothing, and has no program.
TEST_F(ProgramNights, BeginWithACellThatContradictsItself) {
  std::ofstream(dir_ / "n.yaml") << "name: nights\nprogram:\n  command: [python3, train.py, '{fsdp}']\n"
                                    "  repo: {path: repo/part}\n  reader: nanogpt\n"
                                    "work: {seq_len: 8}\ndefaults: {batch_per_device: 1/2}\naxes: {fsdp: [1, 2]}\n";
  fs::create_directories(dir_ / "repo/part");
  const auto move = [&](const std::string& subject, double step_ms) {
    commit(subject, step_ms);
    fs::rename(dir_ / "repo/train.py", dir_ / "repo/part/train.py");
    git({"add", "-A"});
    git({"commit", "-q", "-m", subject + " in a folder"});
  };
  move("quick", 100);
  const auto first = night();
  ASSERT_EQ(first.exit_code, 2) << first.error_output;
  move("slow", 110);
  const auto end = night();
  EXPECT_EQ(end.exit_code, 1) << end.output << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("compared with the program of "));
}

// A control that ran the program would move with it, and its drift would be subtracted from the program's.
TEST_F(ProgramNights, HaveAControlOfTheEnginesOwn) {
  commit("one", 100);
  const auto end = night({});
  EXPECT_THAT(end.output, HasSubstr("Tonight's engine is the control from now on"));
  const auto list = perfbench({"list", "runs", "--format", "json"});
  const auto runs = Json::parse(list.output)["runs"];
  for (const auto& run : runs) {
    const bool is_control = run["matrix"] == "control";
    EXPECT_EQ(run["cell"].get<std::string>().find("model=llama-mini") != std::string::npos, is_control) << run;
  }
  EXPECT_THAT(list.output, HasSubstr("\"control\""));
}

TEST_F(ProgramRevisions, NeedARepositoryAndABuildThatWorks) {
  commit("one", 100);
  std::ofstream(dir_ / "none.yaml") << "name: none\nprogram: {command: [python3, train.py]}\n";
  const auto none = perfbench({"compare", "--ab", "HEAD", "current", "none.yaml"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.error_output, HasSubstr("add 'repo: {path: FOLDER}'"));
  std::ofstream(dir_ / "broken.yaml") << "name: broken\nprogram:\n  command: [python3, train.py]\n"
                                         "  repo: {path: repo, build: [[sh, -c, 'echo no moon; exit 1']]}\n";
  const auto broken = perfbench({"compare", "--ab", "HEAD", "current", "broken.yaml", "--build-cache", "cache"});
  EXPECT_EQ(broken.exit_code, 4) << broken.error_output;
  EXPECT_THAT(broken.error_output, HasSubstr("no moon"));
}

TEST_F(ProgramCommand, ALogThatSomebodyHasBecomesARunOfTheDatabase) {
  std::ofstream(dir_ / "train.log") << "iter 0: loss 4.0, time 90.00ms, mfu 1.0%\niter 1: loss 3.9, time 10.00ms, mfu "
                                       "1.0%\niter 2: loss 3.8, time 10.00ms, mfu 1.0%\niter 3: loss 3.7, time "
                                       "10.00ms, mfu 1.0%\n";
  EXPECT_EQ(perfbench({"adapt", "--reader", "nanogpt", "train.log", "--into", "r"}).exit_code, 0);
  const auto end = perfbench({"ingest", "r"});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_NEAR(rows().at(0)["step_time_s"].get<double>(), 0.01, 1e-12);
}

// A stand-in for MaxText: a package with its trainer's name, which prints a run's records as MaxText does.
class ProgramFileCommand : public ProgramCommand {
 protected:
  void SetUp() override {
    const auto package = dir_ / "site" / "maxtext" / "trainers" / "pre_train";
    fs::create_directories(package);
    for (auto folder = package; folder.filename() != "site"; folder = folder.parent_path()) {
      std::ofstream(folder / "__init__.py") << "";
    }
    std::ofstream(package / "train.py")
        << "import runpy, sys\n"
           "told = dict(word.split('=', 1) for word in sys.argv[1:])\n"
           "sys.argv = ['trainer.py', '--made-up', '--dialect', 'maxtext', '--steps', told['steps'],\n"
           "            '--file', 'maxtext_jsonl=' + told['metrics_file']]\n"
           "runpy.run_path('" +
               kTrainer + "', run_name='__main__')\n";
    std::ofstream(dir_ / "small.yaml")
        << "name: small\n"
           "defaults: {model: llama-tiny, attention: dot_product, seq_len: 16, global_batch: 2, steps: 8,"
           " threads_per_rank: 0, remat: full}\n";
  }
  ProcessEnd with_maxtext(std::vector<std::string> arguments) const {
    std::vector<std::string> command{PERFBENCH_BINARY_DIR "/bin/perfbench"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_process({.command = command,
                        .working_dir = dir_,
                        .environment = {{"PERFBENCH_DB", "p.db"}, {"PYTHONPATH", (dir_ / "site").string()}}});
  }
};

TEST_F(ProgramFileCommand, ASweepByAProgramFileAndTheEnginesOwnAreOneTable) {
  const auto swept = with_maxtext({"sweep", "small.yaml", "--program", "maxtext"});
  EXPECT_EQ(swept.exit_code, 0) << swept.error_output << swept.output;
  ASSERT_EQ(with_maxtext({"sweep", "small.yaml"}).exit_code, 0);
  const auto end = with_maxtext(
      {"report", "--sweep", "all", "--format", "json", "--baseline", "published:maxtext/llama2-7b-8xh100"});
  ASSERT_TRUE(end.succeeded()) << end.error_output;
  const auto table = Json::parse(end.output)["rows"];
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[0]["subject"], "maxtext");
  EXPECT_NE(table[1]["subject"], "maxtext");
  EXPECT_EQ(table[2]["cell"], "published:maxtext/llama2-7b-8xh100");
  for (const auto* same : {"size", "seq_len", "global_batch", "attention", "remat"}) {
    EXPECT_EQ(table[0][same], table[1][same]) << same;
  }
  EXPECT_NEAR(table[0]["step_time_s"].get<double>(), 0.01, 0.001);  // the trainer's clock
  EXPECT_FALSE(table[0].contains("optimizer.learning_rate")) << "a difference that only one of them knows";
}

TEST_F(ProgramFileCommand, AProgramThatIsNotInstalledIsACrash) {
  const auto end = perfbench({"sweep", "small.yaml", "--program", "maxtext"});
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_THAT(end.output, HasSubstr("crashed"));
}

TEST_F(ProgramFileCommand, PlanShowsTheCommandForAShellAndAsAList) {
  const auto text = perfbench({"plan", "small.yaml", "--program", "maxtext", "--set", "precision=bf16"});
  EXPECT_EQ(text.exit_code, 0) << text.error_output;
  EXPECT_THAT(text.output, HasSubstr("JAX_PLATFORMS=cpu"));
  EXPECT_THAT(text.output, HasSubstr("-m maxtext.trainers.pre_train.train run_name=perfbench hardware=cpu"));
  const auto json = perfbench({"plan", "small.yaml", "--program", "maxtext", "--format", "json"});
  const auto cell = Json::parse(json.output)["cells"][0];
  EXPECT_EQ(cell["command"][2], "maxtext.trainers.pre_train.train");
  EXPECT_EQ(cell["env"]["XLA_FLAGS"], "--xla_force_host_platform_device_count=1");
  const auto csv = perfbench({"plan", "small.yaml", "--program", "maxtext", "--format", "csv"});
  EXPECT_THAT(csv.output, HasSubstr(",command\r\n"));
  EXPECT_THAT(csv.output, HasSubstr(" -m maxtext.trainers.pre_train.train run_name=perfbench hardware=cpu"));
}

TEST_F(ProgramFileCommand, SaysWhichProgramsThereAre) {
  const auto end = perfbench({"plan", "small.yaml", "--program", "maxtxt"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, HasSubstr("did you mean 'maxtext'?"));
  const auto refused =
      perfbench({"plan", "small.yaml", "--program", "maxtext", "--set", "pp=2", "--set", "grad_accum=2"});
  EXPECT_EQ(refused.exit_code, 0);
  EXPECT_THAT(refused.output, HasSubstr("maxtext: the chunks of its pipeline"));
}

}  // namespace
}  // namespace perfbench::harness
