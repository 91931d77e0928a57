// Training programs in containers. A script stands in for podman: it runs the command on this machine, with the
// variables and in the folder that podman would give it. (ci/containers.py measures in real containers.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/harness/cli/run_perfbench.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kTrainingScript = PERFBENCH_SOURCE_DIR "/tests/programs/trainer.py";

// Notes each call. An image with the tag "absent" does not exist.
constexpr const char* kStandIn = R"(#!/usr/bin/env python3
import os, sys
words = sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(" ".join(words) + "\n")
if words[:2] == ["image", "inspect"]:
    if words[-1].endswith(":absent") or "NO_IMAGES" in os.environ:
        sys.exit("Error: image not known")
    print("id of " + words[-1])
    sys.exit()
if words[0] != "run":
    sys.exit()
words.pop(0)
inside = {"PATH": os.environ["PATH"]}
while words[0].startswith("--"):
    name, _, value = words.pop(0).partition("=")
    if name == "--env" and value in os.environ:
        inside[value] = os.environ[value]
    if name == "--workdir":
        os.chdir(value)
inside["IMAGE"] = words.pop(0)
os.execvpe(words[0], words, inside)
)";

class ContainerCommand : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(dir_ / "bin");
    for (const auto* name : {"podman", "docker"}) {
      std::ofstream(dir_ / "bin" / name) << kStandIn;
      fs::permissions(dir_ / "bin" / name, fs::perms::owner_all);
    }
  }

  ProcessEnd perfbench(const std::vector<std::string>& arguments,
                       std::map<std::string, std::string> environment = {}) const {
    environment["PERFBENCH_DB"] = "p.db";
    environment["CALLS"] = (dir_ / "calls").string();
    environment["PATH"] = (dir_ / "bin").string() + ":" + std::getenv("PATH");
    return run_perfbench(arguments, dir_, environment);
  }
  ProcessEnd run_in(const std::string& image, std::vector<std::string> options, const std::string& script) const {
    options.insert(options.begin(), {"run", "--repeats", "1", "--image", image});
    options.insert(options.end(), {"--", "sh", "-c", script});
    return perfbench(options);
  }
  std::vector<std::string> calls() const {
    std::vector<std::string> out;
    std::ifstream in(dir_ / "calls");
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
  // The records of the only attempt.
  Json record(const std::string& name) const {
    for (const auto& entry : fs::recursive_directory_iterator(dir_ / "p.runs")) {
      if (entry.path().filename() == name) return Json::parse(std::ifstream(entry.path()));
    }
    return {};
  }

  const ScratchFolder scratch_;
  const fs::path dir_ = scratch_.path();
};

TEST_F(ContainerCommand, AProgramIsMeasuredInsideAndItsContainerRemoved) {
  const auto end = run_in("trainer:1", {"--container-option=--device=gpu", "--reader", "nanogpt"},
                          "exec python3 " + kTrainingScript + " --made-up --dialect nanogpt --steps 20");
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("10.10"));  // ms: the trainer's clock makes steps of 10.0 to 10.2 ms
  const auto seen = calls();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0], "image inspect --format {{.Id}} trainer:1");
  const auto attempt = fs::canonical(dir_ / "p.runs").string();
  EXPECT_THAT(seen[1], AllOf(HasSubstr("run --rm --init --pull=never --name=perfbench-"),
                             HasSubstr(" --volume=" + fs::canonical(dir_).string() + ":"),
                             HasSubstr(" --volume=" + attempt + "/"), HasSubstr(" --env=PERFBENCH_SAMPLES "),
                             HasSubstr(" --device=gpu trainer:1 sh -c exec python3")));
  const auto name = seen[1].substr(seen[1].find("--name=") + 7);
  EXPECT_EQ(seen[2], "rm --force --time=0 " + name.substr(0, name.find(' ')));
  EXPECT_EQ(record("env.json")["libraries"]["container.image"], "id of trainer:1");
  EXPECT_EQ(record("env.json")["libraries"].count("packages"), 0U);  // this machine's Python is another one
}

TEST_F(ContainerCommand, VariablesArePassedByNameAndOnlyThoseThatAreDeclared) {
  std::ofstream(dir_ / "m.yaml") << R"(name: m
program:
  command: [sh, -c, 'echo "said $GIVEN $NEEDED ${{OTHER-unset}}"']
  env: {GIVEN: two words}
  needs: [NEEDED]
  finished: {line: said two words 42 unset}
  container: {image: "trainer:1"}
)";
  const auto end = perfbench({"sweep", "m.yaml"}, {{"NEEDED", "42"}, {"OTHER", "seen"}});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_THAT(calls().at(1), AllOf(HasSubstr(" --env=GIVEN "), HasSubstr(" --env=NEEDED "),
                                   Not(HasSubstr("--env=OTHER")), Not(HasSubstr("GIVEN=")), Not(HasSubstr("NEEDED="))));
}

// The processes of the stand-in are no container's, and those of a daemon cannot be seen at all.
TEST_F(ContainerCommand, MemoryOfTheRuntimeIsNotTheProgramsMemory) {
  EXPECT_EQ(run_in("trainer:1", {}, "exec python3 -c pass").exit_code, 0);
  EXPECT_EQ(record("result.json")["resident_bytes"], 0);
}

TEST_F(ContainerCommand, DockerIsTheOtherRuntime) {
  EXPECT_EQ(run_in("trainer:1", {"--runtime", "docker"}, "true").exit_code, 0);
  EXPECT_EQ(record("program.json")["command"][0], (dir_ / "bin" / "docker").string());
  EXPECT_THAT(calls().back(), testing::StartsWith("rm --force perfbench-"));
}

TEST_F(ContainerCommand, AnImageThatIsMissingIsNamedWithTheRemedy) {
  const auto end = run_in("trainer:absent", {}, "true");
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_THAT(end.error_output, HasSubstr("podman has no image trainer:absent on this machine: fetch it first, with "
                                          "'podman pull trainer:absent' (Error: image not known)"));
  EXPECT_EQ(calls().size(), 1U);
}

TEST_F(ContainerCommand, ASweepWhoseImageIsGoneIsNotResumed) {
  std::ofstream(dir_ / "m.yaml") << "name: m\nprogram: {command: ['true'], container: {image: 'trainer:1'}}\n";
  EXPECT_EQ(perfbench({"sweep", "m.yaml"}).exit_code, 0);
  const auto end = perfbench({"sweep", "m.yaml", "--resume"}, {{"NO_IMAGES", "1"}});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, testing::StartsWith("[launch] podman has no image trainer:1"));
}

TEST_F(ContainerCommand, AnImageHasAName) {
  for (const auto* name : {"", "--privileged"}) {
    const auto end = run_in(name, {}, "true");
    EXPECT_EQ(end.exit_code, 3);
    EXPECT_THAT(end.error_output, HasSubstr("an image has a name")) << end.output;
  }
}

class ComparedImages : public ContainerCommand {
 protected:
  void SetUp() override {
    ContainerCommand::SetUp();
    std::ofstream(dir_ / "m.yaml")
        << "name: images\nprogram:\n  command: [sh, -c, '[ $IMAGE = trainer:slow ] && slow=0.05; exec "
           "python3 " +
               kTrainingScript +
               " --made-up --dialect nanogpt --steps 20 --slow ${{slow:-0}}']\n"
               "  reader: nanogpt\n  container: {image: 'trainer:{tag}'}\n"
               "axes: {tag: [quick]}\n";
  }
  ProcessEnd compare(const std::string& a, const std::string& b) const {
    return perfbench({"compare", "--ab", a, b, "m.yaml", "--pairs", "8", "--most-foreign", "1", "--most-steal", "1",
                      "--format", "json"});
  }
};

TEST_F(ComparedImages, AreTwoSidesOfPairs) {
  const auto end = compare("current", "image:trainer:slow");
  EXPECT_EQ(end.exit_code, 1) << end.error_output;
  const auto metric = Json::parse(end.output)["cells"][0]["metrics"][0];
  EXPECT_EQ(metric["metric"], "step_time_s");
  EXPECT_EQ(metric["verdict"], "REGRESSED");
  EXPECT_NEAR(metric["ratio"].get<double>(), 1.05, 0.003);  // times of 10 ms are printed to 0.01 ms
}

TEST_F(ComparedImages, NeedAProgramThatRunsInAContainer) {
  for (const auto* more : {"turns: true", "ranks: {launched_by: srun, count: 2}"}) {
    std::ofstream(dir_ / "n.yaml") << "name: n\nprogram: {command: ['true'], " << more << "}\n";
    const auto end = perfbench({"compare", "--ab", "current", "image:trainer:1", "n.yaml"});
    EXPECT_EQ(end.exit_code, 3);
    EXPECT_THAT(end.error_output, HasSubstr("a program with 'turns' or 'ranks' does not run in a container"));
  }
  EXPECT_THAT(compare("current", "image:--privileged").error_output, HasSubstr("is an option, not a name"));
}

TEST_F(ComparedImages, MustExistBeforeAnythingRuns) {
  const auto end = compare("current", "image:trainer:absent");
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, HasSubstr("podman has no image trainer:absent"));
  for (const auto& call : calls()) EXPECT_THAT(call, testing::StartsWith("image inspect"));
  EXPECT_THAT(compare("current", "image:").error_output, HasSubstr("'image:' needs the name of an image"));
  EXPECT_THAT(perfbench({"compare", "--ab", "image:x", "current", PERFBENCH_SOURCE_DIR "/matrices/quickstart.yaml"})
                  .error_output,
              HasSubstr("image:x needs a matrix with a 'program'"));
}

}  // namespace
}  // namespace perfbench::harness
