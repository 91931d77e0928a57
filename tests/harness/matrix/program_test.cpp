// Matrices whose cells are runs of a training program other than perfbench-engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Expansion expand_program(const std::string& text, const Overrides& overrides = {}) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR "/tests/harness/matrix_data");
  return expand(YamlDocument::parse(text, "matrix", "m.yaml"), catalog, overrides);
}

std::string program_error(const std::string& text, const Overrides& overrides = {}) {
  try {
    expand_program(text, overrides);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

const std::vector<std::string>& command_of(const Cell& cell) {
  return cell.run.program->spec.command;
}

TEST(ProgramMatrix, FillsTemplatesWithTheValuesOfEachCell) {
  const auto made = expand_program(
      "name: m\n"
      "program:\n"
      "  command: [python3, train.py, '--steps={steps}', '--config={config}', '--tp={tp}', '--out={run_dir}', "
      "'{{x}}']\n"
      "  reader: nanogpt\n"
      "  steps: 40\n"
      "axes: {config: [a, b], tp: [2]}\n");
  ASSERT_THAT(made.cells, SizeIs(2));
  EXPECT_EQ(made.cells[1].label, "config=b tp=2");
  EXPECT_THAT(command_of(made.cells[1]),
              ElementsAre("python3", "train.py", "--steps=40", "--config=b", "--tp=2", "--out={run_dir}", "{{x}}"));
  EXPECT_EQ(made.cells[1].run.program->spec.steps, 40);
  EXPECT_NE(made.cells[0].run_id, made.cells[1].run_id);
}

TEST(ProgramMatrix, DeclaresOnlyWhatItSays) {
  const auto made = expand_program(
      "name: m\n"
      "program: {command: [./train]}\n"
      "work: {model: tiny-llama, seq_len: 64, batch_per_device: 4}\n"
      "defaults: {fsdp: 2}\n");
  const auto& run = made.cells.front().run;
  EXPECT_EQ(run.global_batch, 8);
  for (const auto* field : {"model", "seq_len", "global_batch", "mesh.ici.fsdp"}) EXPECT_TRUE(spec::says(run, field));
  for (const auto* field : {"precision", "attention", "steps", "optimizer", "device"}) {
    EXPECT_FALSE(spec::says(run, field)) << field;
  }
  EXPECT_EQ(spec::canonical_json(spec::parse_recorded_run(spec::canonical_json(run))), spec::canonical_json(run));
}

TEST(ProgramMatrix, NeedsNoWorkAtAll) {
  const auto made = expand_program("name: m\nprogram: {command: [./train]}\n");
  ASSERT_THAT(made.cells, SizeIs(1));
  EXPECT_EQ(spec::canonical_json(made.cells.front().run),
            R"({"program":{"command":["./train"],"version":1,"workdir":"{cwd}"},"schema_version":1})");
}

TEST(ProgramMatrix, CountsTheRanksThatALauncherStarts) {
  const auto count = [](const std::string& ranks) {
    const auto made = expand_program("name: m\nprogram: {command: [./train], ranks: {launched_by: mpirun" + ranks +
                                     "}}\n" + "work: {fsdp: 4}\n");
    return made.cells.front().run.program->spec.ranks.count;
  };
  EXPECT_EQ(count(""), "4");
  EXPECT_EQ(count(", count: '2'"), "2");
  EXPECT_EQ(count(", count: 2"), "2");
  EXPECT_EQ(count(", count: '{fsdp}'"), "4");
}

TEST(ProgramMatrix, SetAndOnlyKnowTheProgramsOwnKeys) {
  const std::string text = "name: m\nprogram: {command: [./train, '{config}']}\naxes: {config: [a, b]}\n";
  EXPECT_THAT(expand_program(text, {.only = {"config=b"}}).cells, SizeIs(1));
  EXPECT_THAT(command_of(expand_program(text, {.set = {"config=c"}}).cells.front()), ElementsAre("./train", "c"));
  EXPECT_THAT(program_error(text, {.set = {"confg=c"}}), HasSubstr("unknown key 'confg'"));
}

TEST(ProgramMatrix, RepositoryIsNoPartOfTheRun) {
  const auto of = [](const std::string& folder) {
    return expand_program("name: m\nprogram: {command: [make], repo: {path: " + folder + "}}\n").cells.front();
  };
  const auto here = of(PERFBENCH_SOURCE_DIR);
  const auto there = of(PERFBENCH_SOURCE_DIR "/tests");
  EXPECT_EQ(here.run_id, there.run_id);
  EXPECT_EQ(here.program_repo, std::filesystem::canonical(PERFBENCH_SOURCE_DIR).string());
  EXPECT_EQ(here.run.program->spec.workdir, "{repo}");
}

TEST(ProgramMatrix, TheRepositoryMayHaveCommandsThatBuildIt) {
  const auto made = expand_program("name: m\nprogram: {command: [./train], repo: {path: " PERFBENCH_SOURCE_DIR
                                   ", build: [[make, -j2], [./install]]}}\n");
  ASSERT_TRUE(made.program_repo);
  EXPECT_THAT(made.program_repo->build, ElementsAre(ElementsAre("make", "-j2"), ElementsAre("./install")));
  EXPECT_FALSE(expand_program("name: m\nprogram: {command: [./train]}\n").program_repo);
}

struct MatrixMistake {
  const char* program;
  const char* message;
};

TEST(ProgramMatrix, NamesEachMistakeAtItsPlace) {
  const MatrixMistake mistakes[] = {
      {"{command: [a, '{steps}']}", "m.yaml:2:24 {steps} has no value"},
      {"{command: [a, '{model}']}", "m.yaml:2:24 {model} has no value"},
      {"{command: [a, '{devices}']}", "m.yaml:2:24 {devices} has no value"},
      {"{command: [a], ranks: {launched_by: mpirun}}", "{devices} has no value: set an axis of the mesh"},
      {"{command: [a], turns: true, ranks: {launched_by: srun, count: 2}}", "m.yaml:2:25 ranks that mpirun"},
      {"{command: [a], ranks: {count: [2]}}", "m.yaml:2:33 "},
      {"{command: [a], ranks: {count: 2}}", "m.yaml:2:33 only ranks that mpirun or srun launches are counted"},
      {"{command: [a], container: {options: [--net=host]}}", "m.yaml:2:25 a container needs an image"},
      {"{command: [a], container: {image: i, runtime: dockre}}", "'runtime' is 'dockre'"},
      {"{command: [a], container: {image: i, mounts: []}}", "unknown key 'mounts'"},
      {"{command: [a], container: {image: 'i:{tag}', options: ['{nothing}']}}", "{tag} has no value"},
      {"{command: [a], turns: true, container: {image: i}}", "m.yaml:2:25 a program in a container cannot take turns"},
      {"{command: [a], ranks: {launched_by: srun, count: 2}, container: {image: i}}",
       "ranks that mpirun or srun launches do not run"},
      {"{command: [a], ranks: {launched_by: pmrun}}", "m.yaml:2:33 'launched_by' is 'pmrun'"},
      {"{command: [a, '{mesh}']}", "m.yaml:2:24 {mesh} is a group of keys"},
      {"{command: [a, '{']}", "m.yaml:2:24 '{' has a single brace"},
      {"{command: [a, '{repo}']}", "m.yaml:2:24 {repo} has no value: add 'repo"},
      {"{command: []}", "m.yaml:2:11 the command is empty"},
      {"{command: [a], repo: {path: ., build: make}}", "m.yaml:2:41 found \"make\" where a list of commands is needed"},
      {"{command: [a], repo: {path: ., build: [[]]}}", "m.yaml:2:41 found [[]] where a list of commands is needed"},
      {"{command: [a], repo: {path: ., keep: [x]}}", "m.yaml:2:25 found"},
      {"{comand: [a]}", "m.yaml:2:11 unknown key 'comand' (did you mean 'command'?)"},
      {"{command: a}", "m.yaml:2:11"},
      {"{command: [a], reader: nanogtp}", "m.yaml:2:25 "},
      {"{command: [a], metrics: {x: {regex: '('}}}", "m.yaml:2:25 "},
      {"{command: [a], metrics: {x: {unit: s}}}", "needs either a regex or a key"},
      {"{command: [a], repo: {path: /no/such/folder}}", "/no/such/folder is not a folder"},
      {"{command: [a], facts: {}}", "unknown key 'facts'"},
  };
  for (const auto& [program, message] : mistakes) {
    EXPECT_THAT(program_error("name: m\nprogram: " + std::string(program) + "\n"), HasSubstr(message)) << program;
  }
}

TEST(ProgramMatrix, KeysThatNothingUsesAreErrors) {
  EXPECT_THAT(program_error("name: m\nprogram: {command: [a]}\naxes: {config: [b]}\n"), HasSubstr("'config'"));
  EXPECT_THAT(program_error("name: m\nwork: {seq_len: 8}\n"), HasSubstr("'work' declares what a `program` works on"));
}

}  // namespace
}  // namespace perfbench::harness
