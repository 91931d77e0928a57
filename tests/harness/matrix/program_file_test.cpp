// Program files: how a training program takes the keys of a run.
#include "harness/matrix/program_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/program_cells.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kHead = "name: toy\ntitle: Toy\nsources: [its manual]\n";
const std::string kMatrix =
    "name: m\n"
    "defaults: {model: tiny-llama, seq_len: 64, global_batch: 8, fsdp: 2}\n";

class ProgramFiles : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(testing::TempDir()) /
           (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + std::to_string(getpid()));
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  // The cells of `matrix` with the program of `file`.
  std::vector<Cell> cells(const std::string& file, const std::string& matrix, const Overrides& overrides = {}) const {
    write_text(dir_ / "toy.yaml", file);
    const ModelCatalog catalog(kData);
    auto out = expand(YamlDocument::parse(matrix, "matrix", "m.yaml"), catalog, overrides);
    run_with_program(out, {.program = (dir_ / "toy.yaml").string()}, kData);
    return out.cells;
  }
  Cell cell(const std::string& file, const Overrides& overrides = {}) const {
    return cells(file, kMatrix, overrides).front();
  }
  // Why the program does not run the cell; "no reason" if it does.
  std::string refusal(const std::string& file, const std::vector<std::string>& set = {}) const {
    return cell(file, {.set = set}).infeasible.value_or("no reason");
  }

  const std::string kData = PERFBENCH_SOURCE_DIR "/tests/harness/matrix_data";
  fs::path dir_;
};

const std::vector<std::string>& words_of(const Cell& cell) {
  return cell.run.program->spec.command;
}

// A program that is told everything that kMatrix says.
std::string toy(const std::string& more = "") {
  return kHead +
         "program:\n"
         "  command: [train, '{seq_len}', '{batch_per_device}', '{fsdp}', '{steps}', '{run_dir}/out']\n"
         "values: {model: {tiny-llama: llama}}\n" +
         more;
}

TEST_F(ProgramFiles, FillItsCommandFromTheRun) {
  const auto made = cell(toy());
  EXPECT_EQ(made.infeasible, std::nullopt);
  EXPECT_THAT(words_of(made), ElementsAre("train", "64", "4", "2", "10", "{run_dir}/out"));
  EXPECT_EQ(made.run.program->spec.steps, 10);
  EXPECT_EQ(made.label, cell(toy()).label);
}

TEST_F(ProgramFiles, GiveTheRunThatAMatrixOfTheProgramGives) {
  const ModelCatalog catalog(kData);
  const auto by_matrix = expand(YamlDocument::parse("name: m\n"
                                                    "program:\n"
                                                    "  command: [train, '{seq_len}', '{fsdp}', '{run_dir}/out']\n"
                                                    "work:\n"
                                                    "  model: tiny-llama\n"
                                                    "  seq_len: 64\n"
                                                    "  global_batch: 8\n"
                                                    "  hardware: host\n"
                                                    "  mesh:\n"
                                                    "    ici: {dp: 1, fsdp: 2, tp: 1, ep: 1, pp: 1}\n"
                                                    "    dcn: {dp: 1, fsdp: 1, tp: 1, ep: 1, pp: 1}\n",
                                                    "matrix", "m.yaml"),
                                catalog, {})
                             .cells.front();
  const auto by_file = cell(kHead +
                            "program: {command: [train, '{seq_len}', '{fsdp}', '{run_dir}/out']}\n"
                            "values: {model: {tiny-llama: llama}, global_batch: {8: 8}}\n");
  auto text = spec::canonical_json(by_file.run);
  const std::string name = R"("facts":{"program":"toy"},)";
  ASSERT_NE(text.find(name), std::string::npos) << text;
  EXPECT_EQ(text.erase(text.find(name), name.size()), spec::canonical_json(by_matrix.run));
  for (const auto* field : {"model", "seq_len", "global_batch", "mesh.ici.fsdp", "hardware"}) {
    EXPECT_TRUE(spec::says(by_file.run, field)) << field;
  }
  for (const auto* field : {"precision", "attention", "remat", "optimizer", "device", "data"}) {
    EXPECT_FALSE(spec::says(by_file.run, field)) << field;
  }
  EXPECT_EQ(spec::canonical_json(spec::parse_recorded_run(spec::canonical_json(by_file.run))),
            spec::canonical_json(by_file.run));
}

TEST_F(ProgramFiles, TranslateValuesAndRefuseThoseTheyDoNotList) {
  const auto file = toy("").replace(toy("").find("'{steps}'"), 9, "'remat={remat}', 'scan={scan}'") + "";
  const auto with_values = [&](const std::string& values) {
    return file.substr(0, file.find("values:")) + "values: {model: {tiny-llama: llama}, " + values + "}\n";
  };
  const auto text = with_values("remat: {none: nothing, full: everything}, scan: {true: 'True', false: 'False'}");
  EXPECT_THAT(words_of(cell(text, {.set = {"remat=full", "scan=true"}})),
              ElementsAre("train", "64", "4", "2", "remat=everything", "scan=True", "{run_dir}/out"));
  EXPECT_EQ(refusal(text, {"remat=minimal"}), "toy cannot be told remat=minimal; toy.yaml has full, none");
}

TEST_F(ProgramFiles, RefuseEveryKeyThatTheyDoNotMention) {
  EXPECT_EQ(refusal(toy()), "no reason");
  EXPECT_EQ(refusal(toy(), {"grad_accum=2"}), "toy cannot be told grad_accum=2: toy.yaml does not mention it");
  EXPECT_EQ(refusal(toy(), {"tp=2"}), "toy cannot be told tp=2: toy.yaml does not mention it");
  EXPECT_EQ(refusal(toy(), {"optimizer.beta1=0.5"}),
            "toy cannot be told optimizer.beta1=0.5: toy.yaml does not mention it");
  EXPECT_EQ(refusal(toy(), {"grad_accum=1", "training_steps=100", "hardware=host"}), "no reason");
}

TEST_F(ProgramFiles, RulesAddWordsAndVariablesInTheirOrder) {
  const auto file =
      toy("rules:\n"
          "  - {when: {fsdp: 2}, command: ['--shard={fsdp}'], env: {SHARDS: 'n{fsdp}', A: '1'}}\n"
          "  - {when: {fsdp: '!2'}, command: [--never]}\n"
          "  - {command: [--last], env: {A: '2'}}\n");
  const auto made = cell(file);
  EXPECT_THAT(words_of(made), ElementsAre("train", "64", "4", "2", "10", "{run_dir}/out", "--shard=2", "--last"));
  EXPECT_EQ(made.run.program->spec.env, (std::map<std::string, std::string>{{"A", "2"}, {"SHARDS", "n2"}}));
}

TEST_F(ProgramFiles, RulesRefuseWithTheirReason) {
  const auto file =
      toy("rules:\n"
          "  - {when: {tp: '!1'}, reason: it has one axis}\n"
          "  - {when: {fsdp: 2}, only: {seq_len: [64, 128], attention: flash}, reason: its manual has these}\n");
  EXPECT_EQ(refusal(file), "no reason");
  EXPECT_EQ(refusal(file, {"tp=2"}), "toy: it has one axis");
  EXPECT_EQ(refusal(file, {"seq_len=32"}), "toy: seq_len=32, but its manual has these");
  EXPECT_EQ(refusal(file, {"attention=dot_product"}), "toy: attention=dot_product, but its manual has these");
  EXPECT_EQ(refusal(file, {"fsdp=4", "seq_len=32", "attention=dot_product"}), "no reason");
}

TEST_F(ProgramFiles, ARefusedCellIsNoRunOfTheEngine) {
  const ModelCatalog catalog(kData);
  const auto by_engine = expand(YamlDocument::parse(kMatrix, "matrix", "m.yaml"), catalog, {.set = {"tp=2"}});
  const auto refused = cell(toy(), {.set = {"tp=2"}});
  EXPECT_NE(refused.run_id, by_engine.cells.front().run_id);
  EXPECT_NE(refused.run_id, cell(toy(), {.set = {"tp=4"}}).run_id);
  ASSERT_TRUE(refused.run.program);
}

TEST_F(ProgramFiles, HostileValuesStayOneWord) {
  const std::string hostile = "a b; $(touch x) 'q' \"r\" {run_dir} {{s}} \\";
  const auto file = toy().replace(toy().find("'{steps}'"), 9, "'--data={data.path}'");
  const auto made = cell(file, {.set = {"data.path=" + hostile}});
  EXPECT_EQ(made.infeasible, std::nullopt);
  ASSERT_EQ(words_of(made).size(), 6U);
  EXPECT_THAT(words_of(made)[4], HasSubstr("$(touch x) 'q' \"r\" {{run_dir}} {{{{s}}}} \\"));
}

TEST_F(ProgramFiles, ModelsThatOnlyShareANameAreRefused) {
  EXPECT_THAT(refusal(toy(), {"model.layers=1", "model.name=tiny-llama"}),
              HasSubstr("another model of the name tiny-llama"));
  EXPECT_THAT(refusal(toy(), {"model.layers=1"}), HasSubstr("cannot be told model=tiny-llama[layers=1]"));
}

TEST_F(ProgramFiles, DerivedKeysAreNumbersOfTheRun) {
  const auto file =
      kHead +
      "program: {command: ['{devices}', '{node_count}', '{devices_per_node}', '{total_dp}', '{total_fsdp}',"
      " '{microbatch}', '{microbatch_per_device}', '{microbatches}', '{batch_tokens}', '{batch_per_device}']}\n"
      "values: {model: {tiny-llama: llama}}\n"
      "rules: [{only: {fsdp: 2, tp: 2, dcn_fsdp: 2}, reason: x}]\n";
  const auto made = cell(file, {.set = {"tp=2", "dcn_fsdp=2", "global_batch=16", "grad_accum=2"}});
  EXPECT_EQ(made.infeasible, std::nullopt);
  EXPECT_THAT(words_of(made), ElementsAre("8", "2", "4", "1", "4", "2", "1", "8", "1024", "2"));
}

struct Mistake {
  std::string text;
  const char* message;
};

TEST_F(ProgramFiles, NameEachMistakeAtItsPlace) {
  const Mistake mistakes[] = {
      {"name: toy\nsources: [x]\nprogram: {command: [a]}\n", "toy.yaml:1:1 the key 'title'"},
      {"name: toy\ntitle: Toy\nprogram: {command: [a]}\n", "the key 'sources'"},
      {kHead, "the key 'program'"},
      {kHead + "program: {command: [a]}\nvalue: {}\n", "toy.yaml:5:1 unknown key 'value' (did you mean 'values'?)"},
      {kHead + "program: {command: [a, '{sq_len}']}\n", "toy.yaml:4:24 {sq_len} is not a key of a run"},
      {kHead + "program: {command: [a], steps: 3}\n", "toy.yaml:4:25 'steps' is a key of the run"},
      {kHead + "program: {comand: [a]}\n", "toy.yaml:4:11 unknown key 'comand' (did you mean 'command'?)"},
      {kHead + "program: {command: [a], reader: nanogtp}\n", "toy.yaml:4:25 "},
      {kHead + "program: {command: [a]}\nvalues: {remt: {none: x}}\n", "toy.yaml:5:10 'remt' is not a key of a run"},
      {kHead + "program: {command: [a]}\nvalues: {remat: {}}\n", "toy.yaml:5:10 'remat' has no values"},
      {kHead + "program: {command: [a]}\nvalues: {remat: {none: [x]}}\n", "toy.yaml:5:18 found"},
      {kHead + "program: {command: [a]}\nrules: [{whn: {tp: 1}}]\n", "unknown key 'whn' (did you mean 'when'?)"},
      {kHead + "program: {command: [a]}\nrules: [{when: {tpp: 1}, reason: x}]\n", "toy.yaml:5:17 unknown key 'tpp'"},
      {kHead + "program: {command: [a]}\nrules: [{when: {tp: 1}}]\n", "toy.yaml:5:9 a rule either adds"},
      {kHead + "program: {command: [a]}\nrules: [{command: [b], reason: x}]\n", "a rule either adds"},
      {kHead + "program: {command: [a]}\nrules: [{only: {tp: 1}}]\n", "add the 'reason'"},
      {kHead + "program: {command: [a]}\nrules: [{command: ['{x}']}]\n", "toy.yaml:5:20 {x} is not a key of a run"},
      {kHead + "program: {command: [a]}\nrules: [{env: {A: '{'}}]\n", "toy.yaml:5:16 '{' has a single brace"},
      {kHead + "program: {command: [a, '{repeats}']}\n", "perfbench repeats the run"},
  };
  for (const auto& [text, message] : mistakes) {
    try {
      cell(text);
      ADD_FAILURE() << "no error in " << text;
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(message)) << text;
    }
  }
}

TEST_F(ProgramFiles, AnUnknownNameListsTheKnownOnes) {
  Expansion none;
  try {
    run_with_program(none, {.program = "maxtxt"}, PERFBENCH_SOURCE_DIR);
    ADD_FAILURE() << "no error";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'maxtext'?"));
    EXPECT_THAT(e.what(), HasSubstr("hf_trainer, llmc, maxtext"));
  }
}

TEST_F(ProgramFiles, AMatrixWithAProgramOfItsOwnIsRefused) {
  EXPECT_THROW(cells(toy(), "name: m\nprogram: {command: [a]}\n"), InputError);
}

TEST_F(ProgramFiles, TheExampleOfTheDocumentIsRead) {
  const auto text = read_text(PERFBENCH_SOURCE_DIR "/docs/matrix.md");
  const auto begin = text.find("name: mine\ntitle: My trainer");
  ASSERT_NE(begin, std::string::npos);
  const auto file = read_program_file(
      YamlDocument::parse(text.substr(begin, text.find("```", begin) - begin), "program", "matrix.md"));
  EXPECT_EQ(file.name, "mine");
  EXPECT_EQ(file.rules.size(), 3U);
}

class ShippedProgram : public testing::TestWithParam<std::string> {};

// A key that no file mentions could differ between two cells whose commands are equal.
TEST_P(ShippedProgram, SaysWhatItDoesWithEveryKeyOfAPlainRun) {
  const auto document =
      YamlDocument::load(fs::path(PERFBENCH_SOURCE_DIR "/workloads/programs") / (GetParam() + ".yaml"), "program");
  const auto file = read_program_file(document, {.fallback = "/"});
  EXPECT_EQ(file.name, GetParam()) << "a program is named as its file";
  EXPECT_THAT(file.sources, testing::Not(IsEmpty()));
  for (const auto* key : {"seq_len", "global_batch", "steps", "precision", "attention", "remat", "scan", "grad_accum",
                          "device", "mesh.ici.dp", "mesh.ici.fsdp", "mesh.ici.tp", "mesh.ici.ep", "mesh.ici.pp"}) {
    EXPECT_TRUE(file.handled.contains(key)) << key;
  }
  EXPECT_TRUE(file.handled.contains("model") || file.handled.contains("model.layers"));
  const auto& program = file.program.spec;
  EXPECT_TRUE(!program.reader.empty() || !program.files.empty() || !program.metrics.empty());
}
INSTANTIATE_TEST_SUITE_P(Programs, ShippedProgram, testing::ValuesIn(program_names(PERFBENCH_SOURCE_DIR)),
                         [](const auto& program) { return program.param; });

}  // namespace
}  // namespace perfbench::harness
