#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Expansion expand_text(const std::string& text, const Overrides& overrides = {}) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR "/tests/harness/matrix_data");
  return expand(YamlDocument::parse(text, "matrix", "m.yaml"), catalog, overrides);
}

std::vector<std::string> labels(const Expansion& expansion) {
  std::vector<std::string> out;
  for (const auto& cell : expansion.cells) out.push_back(cell.label);
  return out;
}

// The message of the InputError that the text must cause.
std::string error_of(const std::string& text, const Overrides& overrides = {}) {
  try {
    expand_text(text, overrides);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

const std::string kBase =
    "name: m\n"
    "defaults: {model: tiny-llama, seq_len: 32, global_batch: 8}\n";

TEST(Expand, DefaultsAloneMakeOneCell) {
  const auto expansion = expand_text(kBase);
  ASSERT_THAT(expansion.cells, SizeIs(1));
  const auto& cell = expansion.cells[0];
  EXPECT_EQ(cell.matrix, "m");
  EXPECT_EQ(cell.label, "");
  EXPECT_EQ(cell.run.model.name, "tiny-llama");
  EXPECT_EQ(cell.run.seq_len, 32);
  EXPECT_EQ(cell.run_id, run_id(cell.run));
  EXPECT_EQ(cell.repeats, 1);
}

TEST(Expand, MultipliesAxesInWrittenOrderWithTheLastVaryingFastest) {
  const auto expansion = expand_text(kBase + "axes: {remat: [none, full], fsdp: [1, 2], attention: [flash]}\n");
  EXPECT_THAT(labels(expansion), ElementsAre("remat=none fsdp=1 attention=flash", "remat=none fsdp=2 attention=flash",
                                             "remat=full fsdp=1 attention=flash", "remat=full fsdp=2 attention=flash"));
  EXPECT_EQ(expansion.cells[3].run.mesh.ici.fsdp, 2);
  EXPECT_EQ(expansion.cells[3].run.remat, "full");
}

// 1600 cells in an include and a block: more than one range of threads, and the last batch of both is not full.
TEST(Expand, ManyCellsKeepTheirOrder) {
  std::string seeds;
  for (int i = 0; i < 800; ++i) seeds += (i == 0 ? "" : ", ") + std::to_string(i);
  const auto expansion = expand_text(kBase + "axes: {seed: [" + seeds + "]}\ninclude: [{steps: 7, seed: [" + seeds +
                                     "]}]\nexclude: [{when: {seed: 799}, reason: odd}]\n");
  ASSERT_THAT(expansion.cells, SizeIs(1600));
  for (std::size_t i = 0; i < expansion.cells.size(); ++i) {
    const auto& cell = expansion.cells[i];
    ASSERT_EQ(cell.combination, i);
    ASSERT_EQ(cell.run.seed, static_cast<std::int64_t>(i % 800));
    ASSERT_EQ(cell.run.steps == 7, i >= 800);
    ASSERT_EQ(cell.run_id, run_id(cell.run));
    ASSERT_EQ(cell.excluded.has_value(), i % 800 == 799);
  }
  EXPECT_THAT(expansion.notices, SizeIs(0)) << "of a rule that some thread did not use";
}

// Each mistake is in a range of its own.
TEST(Expand, ReportsTheFirstMistakeOfManyCells) {
  std::string seeds;
  for (int i = 0; i < 256; ++i) seeds += (i == 0 ? "" : ", ") + std::to_string(i);
  for (int turn = 0; turn < 20; ++turn) {
    EXPECT_THAT(error_of(kBase + "axes: {model: [gpt-none, llama-none], seed: [" + seeds + "]}\n"),
                HasSubstr("gpt-none"));
  }
}

TEST(Expand, TakesKeysNestedDottedAndShort) {
  const auto expansion = expand_text(
      "name: m\n"
      "defaults:\n"
      "  model: tiny-llama\n"
      "  mesh: {ici: {dp: 2}}\n"
      "  mesh.dcn.dp: 3\n"
      "  fsdp: 2\n"
      "  optimizer.learning_rate: 1e-3\n"
      "  batch_per_shard: 1\n");
  const auto& run = expansion.cells.at(0).run;
  EXPECT_EQ(run.mesh.ici.dp, 2);
  EXPECT_EQ(run.mesh.dcn.dp, 3);
  EXPECT_EQ(run.mesh.ici.fsdp, 2);
  EXPECT_EQ(run.optimizer.learning_rate, 1e-3);
  EXPECT_EQ(run.global_batch, 12);
}

TEST(Expand, TakesTheModelsOwnSequenceLengthWhenNoneIsGiven) {
  EXPECT_EQ(expand_text("name: m\ndefaults: {model: tiny-gpt, global_batch: 1}\n").cells.at(0).run.seq_len, 64);
}

TEST(Expand, NamedValuesSetSeveralFields) {
  const auto expansion = expand_text(kBase +
                                     "axes:\n"
                                     "  size:\n"
                                     "    - {name: short, set: {seq_len: 16, steps: 2}}\n"
                                     "    - {name: long, set: {seq_len: 64}}\n");
  EXPECT_THAT(labels(expansion), ElementsAre("size=short", "size=long"));
  EXPECT_EQ(expansion.cells[0].run.steps, 2);
  EXPECT_EQ(expansion.cells[1].run.seq_len, 64);
}

TEST(Expand, ZippedListsAdvanceTogether) {
  const auto expansion = expand_text(kBase + "axes: {remat: [none, full]}\nzip: {seq_len: [16, 64], steps: [4, 2]}\n");
  EXPECT_THAT(labels(expansion), ElementsAre("remat=none seq_len=16 steps=4", "remat=none seq_len=64 steps=2",
                                             "remat=full seq_len=16 steps=4", "remat=full seq_len=64 steps=2"));
}

TEST(Expand, TakesAModelWrittenInPlace) {
  const auto expansion = expand_text(
      "name: m\ndefaults: {global_batch: 1}\naxes:\n  model:\n    - tiny-gpt\n"
      "    - {name: own, layers: 1, d_model: 8, n_heads: 1, n_kv_heads: 1, head_dim: 8, d_ff: 8, vocab_size: 16,"
      " max_seq_len: 4}\n");
  EXPECT_THAT(labels(expansion), ElementsAre("model=tiny-gpt", "model=own"));
  EXPECT_EQ(expansion.cells[1].run.model.d_model, 8);
  EXPECT_EQ(expansion.cells[1].run.seq_len, 4);
}

TEST(Expand, AModelWithChangedFieldsSaysSoInItsName) {
  const auto expansion = expand_text(kBase + "axes: {model.layers: [2, 4]}\n");
  EXPECT_EQ(expansion.cells.at(0).run.model.name, "tiny-llama");  // 2 is the model's own value
  EXPECT_EQ(expansion.cells.at(1).run.model.name, "tiny-llama[layers=4]");
}

TEST(Expand, IncludedCellsUseTheDefaultsAndMayListValues) {
  const auto expansion = expand_text(kBase +
                                     "axes:\n  size: [{name: short, set: {seq_len: 16}}]\n"
                                     "include:\n  - {size: short, remat: full}\n  - {model: tiny-gpt, fsdp: [2, 4]}\n");
  EXPECT_THAT(labels(expansion),
              ElementsAre("size=short", "size=short remat=full", "model=tiny-gpt fsdp=2", "model=tiny-gpt fsdp=4"));
  EXPECT_EQ(expansion.cells[1].run.seq_len, 16);
  EXPECT_EQ(expansion.cells[3].run.mesh.ici.fsdp, 4);
}

TEST(Expand, NamedValuesOutsideAxesServeIncludeOnly) {
  const auto expansion = expand_text(kBase +
                                     "axes: {remat: [full]}\n"
                                     "named:\n  node: [{name: big, set: {fsdp: 8}}]\n"
                                     "include: [{node: big}]\n"
                                     "overrides: [{when: {node: big}, set: {steps: 2}}]\n");
  EXPECT_THAT(labels(expansion), ElementsAre("remat=full", "node=big"));
  EXPECT_EQ(expansion.cells[1].run.mesh.ici.fsdp, 8);
  EXPECT_EQ(expansion.cells[1].run.steps, 2);
}

TEST(Expand, AZipMayRepeatAValueAnAxisMayNot) {
  EXPECT_THAT(expand_text(kBase + "zip: {remat: [none, none], fsdp: [1, 2]}\n").cells, SizeIs(2));
  EXPECT_EQ(error_of(kBase + "axes:\n  remat: [none, none]\n"),
            "[matrix] m.yaml:4:17 the axis 'remat' has 'none' twice");
}

TEST(Expand, IncludeWithoutAxesMakesOnlyTheListedCells) {
  EXPECT_THAT(labels(expand_text(kBase + "include: [{remat: full}]\n")), ElementsAre("remat=full"));
}

TEST(Expand, ExcludedCellsAreRecordedWithTheirReason) {
  const auto expansion = expand_text(kBase +
                                     "axes: {attention: [dot_product, flash], seq_len: [16, 64]}\n"
                                     "exclude: [{when: {attention: dot_*, seq_len: 64}, reason: too large}]\n");
  ASSERT_THAT(expansion.cells, SizeIs(4));
  EXPECT_EQ(expansion.cells[1].excluded, "too large");
  EXPECT_FALSE(expansion.cells[0].excluded || expansion.cells[2].excluded || expansion.cells[3].excluded);
}

TEST(Expand, OverridesApplyInOrderAndSeeEachOther) {
  const auto expansion = expand_text(kBase +
                                     "axes: {remat: [none, full]}\n"
                                     "overrides:\n"
                                     "  - {when: {remat: full}, set: {steps: 3}}\n"
                                     "  - {when: {steps: 3}, set: {seed: 7}}\n");
  EXPECT_EQ(expansion.cells.at(0).run.seed, 1234);
  EXPECT_EQ(expansion.cells.at(1).run.steps, 3);
  EXPECT_EQ(expansion.cells.at(1).run.seed, 7);
}

TEST(Expand, NegatedAndListedValuesMatch) {
  const auto expansion = expand_text(kBase +
                                     "axes: {remat: [none, full, minimal]}\n"
                                     "overrides:\n"
                                     "  - {when: {remat: '!none'}, set: {steps: 3}}\n"
                                     "  - {when: {remat: [full, minimal]}, set: {seed: 5}}\n");
  EXPECT_EQ(expansion.cells.at(0).run.steps, 10);
  EXPECT_EQ(expansion.cells.at(1).run.steps, 3);
  EXPECT_EQ(expansion.cells.at(2).run.seed, 5);
}

TEST(Expand, ConstraintsExcludeWithTheNumbersThatBrokeThem) {
  const auto expansion = expand_text(kBase +
                                     "axes: {fsdp: [1, 2, 4], dp: [1, 2]}\n"
                                     "constraints:\n"
                                     "  - fsdp * dp <= 4\n"
                                     "  - {require: fsdp < 4, when: {dp: 1}, reason: too slow}\n");
  EXPECT_EQ(expansion.cells.at(5).excluded, "requires fsdp * dp <= 4, found 8 <= 4");
  EXPECT_EQ(expansion.cells.at(4).excluded, "too slow: requires fsdp < 4, found 4 < 4");
  EXPECT_FALSE(expansion.cells.at(3).excluded.has_value());
}

TEST(Expand, BatchPerDeviceIsMultipliedByTheMesh) {
  const auto expansion =
      expand_text("name: m\ndefaults: {model: tiny-llama, batch_per_device: 1/2, tp: 2}\naxes: {fsdp: [1, 2, 4]}\n");
  EXPECT_EQ(expansion.cells.at(0).run.global_batch, 1);
  EXPECT_EQ(expansion.cells.at(2).run.global_batch, 4);
}

TEST(Expand, ALaterLayersBatchReplacesAnEarlierOneOfAnotherKind) {
  const auto expansion = expand_text(kBase + "axes: {batch_per_device: [1, 3]}\n", {.only = {}, .set = {"dp=2"}});
  EXPECT_EQ(expansion.cells.at(0).run.global_batch, 2);
  EXPECT_EQ(expansion.cells.at(1).run.global_batch, 6);
}

TEST(Expand, AGlobalBatchReplacesAnEarlierBatchPerDevice) {
  const auto expansion = expand_text(
      "name: m\ndefaults: {model: tiny-llama, seq_len: 32, batch_per_device: 3, dp: 2}\naxes: {global_batch: [4, "
      "8]}\n");
  EXPECT_EQ(expansion.cells.at(0).run.global_batch, 4);
  EXPECT_EQ(expansion.cells.at(1).run.global_batch, 8);
}

TEST(Expand, ACombinationThatContradictsItselfIsRecordedInfeasible) {
  const auto expansion = expand_text(kBase + "axes: {fsdp: [1, 16]}\n");
  EXPECT_FALSE(expansion.cells.at(0).infeasible.has_value());
  EXPECT_EQ(expansion.cells.at(1).infeasible, "global_batch 8 does not divide over 16 data shards (dp x fsdp x ep)");
}

TEST(Expand, AValueThatNoCellCanHaveIsAnErrorAtItsLine) {
  EXPECT_EQ(error_of("name: m\ndefaults: {model: tiny-gpt, global_batch: 1}\naxes:\n  seq_len: [32,\n    128]\n"),
            "[matrix] m.yaml:5:5 seq_len 128 is above the model's max_seq_len 64, the rows of its learned position "
            "table (cell seq_len=128)");
}

TEST(Expand, AnExcludedContradictionIsNoError) {
  const auto expansion = expand_text(
      "name: m\ndefaults: {model: tiny-gpt, global_batch: 1}\naxes: {seq_len: [32, 128]}\n"
      "exclude: [{when: {seq_len: 128}, reason: no such positions}]\n");
  EXPECT_EQ(expansion.cells.at(1).excluded, "no such positions");
}

TEST(Expand, EqualCellsAreMergedWithANotice) {
  const auto expansion = expand_text(kBase + "axes: {remat: [none, full]}\ninclude: [{remat: full, steps: 10}]\n");
  EXPECT_THAT(labels(expansion), ElementsAre("remat=none", "remat=full"));
  EXPECT_THAT(expansion.notices,
              ElementsAre("the cells 'remat=full' and 'remat=full steps=10' are the same run; it is executed once"));
}

// Half a sequence is not a valid batch, so the first cell would be left with the batch of the last one.
TEST(Expand, ACellThatCanRunIsNotMergedIntoOneThatCannot) {
  const auto expansion = expand_text(
      "name: m\ndefaults: {model: tiny-gpt, seq_len: 32}\naxes: {tp: [1, 2], batch_per_device: ['1/2', 1]}\n");
  ASSERT_EQ(expansion.cells.size(), 3U);
  EXPECT_EQ(expansion.cells[0].label, "tp=1 batch_per_device=1");
  EXPECT_FALSE(expansion.cells[0].infeasible);
  EXPECT_THAT(expansion.notices, ElementsAre(testing::HasSubstr("only one can run")));
}

TEST(Expand, AnAliasOfAHardwareIsTheSameRun) {
  const auto expansion = expand_text(kBase + "axes: {hardware: [tiny-card, TC]}\n");
  EXPECT_EQ(expansion.cells.at(0).run.hardware, "tiny-card");
  EXPECT_EQ(expansion.cells.size(), 1U);
}

TEST(Expand, SaysThatARuleMatchesNoCell) {
  const auto expansion = expand_text(kBase + "exclude: [{when: {fsdp: 2}, reason: x}]\n");
  EXPECT_THAT(expansion.notices, ElementsAre("m.yaml:3:11 this exclude matches no cell"));
}

// ici is inside a node: eight devices cannot share a node of four.
TEST(Expand, NotesEachMeshThatIsWiderThanANodeOnce) {
  const auto expansion = expand_text(
      "name: m\ndefaults: {model: tiny-llama, seq_len: 32, global_batch: 16, device: cuda, hardware: tiny-card}\n"
      "axes: {fsdp: [4, 8], remat: [none, full], dcn_dp: [1, 2]}\n");
  EXPECT_EQ(expansion.cells.size(), 8U);
  EXPECT_THAT(expansion.notices,
              ElementsAre("4 cells, the first 'fsdp=8 remat=none dcn_dp=1', put fsdp 8 inside a node, but a node of "
                          "tiny-card has 4 devices: use a dcn axis for devices across nodes (fsdp: 4, dcn_fsdp: 2)"));
}

TEST(Expand, ProposesNoSplitThatDoesNotExist) {
  const auto expansion = expand_text(
      "name: m\ndefaults: {model: tiny-llama, seq_len: 32, global_batch: 36, device: cuda, hardware: TC}\n"
      "axes: {fsdp: [6]}\nexclude: [{when: {fsdp: 12}, reason: x}]\n"
      "include: [{fsdp: 3, dp: 2}, {fsdp: 12}, {fsdp: 8, hardware: host}]\n");
  EXPECT_THAT(
      expansion.notices,
      ElementsAre("the cell 'fsdp=3 dp=2' puts dp 2 fsdp 3 inside a node, but a node of tiny-card has 4 devices: "
                  "use a dcn axis for devices across nodes",
                  "the cell 'fsdp=6' puts fsdp 6 inside a node, but a node of tiny-card has 4 devices: use "
                  "a dcn axis for devices across nodes"));
}

// The rule is in loss_chunk.h; a run on a CPU stays the same as before there was a rule.
TEST(Expand, ChoosesTheRowsOfLogitsByDefault) {
  const auto expansion =
      expand_text(kBase +
                  "axes: {device: [cpu, cuda], loss_chunk_tokens: [512, 24]}\n"
                  "include: [{device: cpu, steps: 3}, {device: cuda, steps: 3}, {device: cpu, steps: 4}]\n"
                  "overrides: [{when: {steps: 4}, set: {device: cuda, precision: bf16, model.vocab_size: 131072}}]\n");
  std::vector<std::int64_t> rows;
  for (const auto& cell : expansion.cells) rows.push_back(cell.run.loss_chunk_tokens);
  EXPECT_THAT(rows, ElementsAre(512, 24, 512, 24, 512, 8192, 4096));
  const auto unsaid = expand_text(kBase);
  const auto said = expand_text(kBase + "axes: {loss_chunk_tokens: [512]}\n");
  EXPECT_EQ(unsaid.cells.at(0).run_id, said.cells.at(0).run_id);
}

// Rules see the chosen value.
TEST(Expand, MatchesTheChosenRowsOfLogits) {
  const auto expansion = expand_text(kBase +
                                     "axes: {device: [cpu, cuda]}\n"
                                     "exclude: [{when: {loss_chunk_tokens: 8192}, reason: many}]\n");
  EXPECT_FALSE(expansion.cells.at(0).excluded.has_value());
  EXPECT_EQ(expansion.cells.at(1).excluded, "many");
}

TEST(Expand, RepeatsComeFromTheMatrixAndFromRules) {
  const auto expansion = expand_text(kBase +
                                     "repeats: 5\naxes: {remat: [none, full]}\n"
                                     "overrides: [{when: {remat: full}, set: {repeats: 2}}]\n");
  EXPECT_EQ(expansion.cells.at(0).repeats, 5);
  EXPECT_EQ(expansion.cells.at(1).repeats, 2);
}

TEST(Only, KeepsCellsByAxisLabelFieldValueOrGlob) {
  const std::string text = kBase + "axes: {remat: [none, full], fsdp: [1, 2, 4]}\n";
  EXPECT_THAT(labels(expand_text(text, {.only = {"fsdp=1,4", "remat=f*"}, .set = {}})),
              ElementsAre("remat=full fsdp=1", "remat=full fsdp=4"));
  EXPECT_THAT(expand_text(text, {.only = {"devices=2"}, .set = {}}).cells, SizeIs(2));
  EXPECT_THAT(expand_text(text, {.only = {"model=tiny-llama"}, .set = {}}).cells, SizeIs(6));
}

TEST(Only, AnUnknownKeyListsTheKeys) {
  const auto error = error_of(kBase + "axes: {remat: [none, full]}\n", {.only = {"remt=none"}, .set = {}});
  EXPECT_THAT(error, HasSubstr("unknown key 'remt' (did you mean 'remat'?)"));
  EXPECT_THAT(error, HasSubstr("axes of this matrix: remat"));
  EXPECT_THAT(error, HasSubstr("seq_len, global_batch"));
}

TEST(Only, LeavingNoCellIsAnErrorThatListsTheValues) {
  const auto error = error_of(kBase + "axes: {remat: [none, full]}\n", {.only = {"remat=minimal"}, .set = {}});
  EXPECT_EQ(error, "[matrix] --only remat=minimal leaves no cell of m.yaml\n  remat: none full");
}

TEST(Set, AppliesLastAndIsTypedByTheField) {
  const auto expansion = expand_text(
      kBase + "axes: {remat: [none]}\noverrides: [{when: {remat: none}, set: {steps: 4}}]\n",
      {.only = {},
       .set = {"steps=3", "scan=true", "data.path=7", "optimizer.beta1=1", "batch_per_device=4/2", "dp=4"}});
  const auto& run = expansion.cells.at(0).run;
  EXPECT_EQ(run.steps, 3);
  EXPECT_TRUE(run.scan);
  EXPECT_EQ(run.data.path, "7");
  EXPECT_EQ(run.optimizer.beta1, 1.0);
  EXPECT_EQ(run.global_batch, 8);
}

// The path of the data set that the only cell reads; its matrix file is in a separate folder.
class DataPath : public testing::Test {
 protected:
  ScratchFolder scratch_;

  std::string of(const std::string& path, const Overrides& overrides = {}) {
    write_text(scratch_ / "m.yaml", kBase + "axes: {data.kind: [flat_tokens], data.path: [" + path + "]}\n");
    const ModelCatalog catalog(PERFBENCH_SOURCE_DIR "/tests/harness/matrix_data");
    return expand(YamlDocument::load((scratch_ / "m.yaml").string(), "matrix"), catalog, overrides)
        .cells.at(0)
        .run.data.path;
  }
};

TEST_F(DataPath, IsRelativeToTheFolderOfTheMatrixFirst) {
  std::filesystem::create_directory(scratch_ / "tokens");
  EXPECT_EQ(of("tokens"), std::filesystem::canonical(scratch_ / "tokens").string());
  EXPECT_EQ(of("./tokens/../tokens"), std::filesystem::canonical(scratch_ / "tokens").string());
}

TEST_F(DataPath, IsOtherwiseRelativeToTheCurrentFolder) {
  EXPECT_EQ(of("tokens"), (std::filesystem::current_path() / "tokens").string());
}

TEST_F(DataPath, OnTheCommandLineIsRelativeToTheCurrentFolder) {
  std::filesystem::create_directory(scratch_ / "tokens");
  EXPECT_EQ(of("else", {.only = {}, .set = {"data.path=tokens"}}),
            (std::filesystem::current_path() / "tokens").string());
}

TEST_F(DataPath, AbsoluteIsKept) {
  EXPECT_EQ(of("/data/tokens"), "/data/tokens");
}

TEST(Set, CollapsesAnAxisItReplaces) {
  const auto expansion =
      expand_text(kBase + "axes: {seq_len: [16, 64]}\n", {.only = {}, .set = {"seq_len=32", "steps=3", "scan=true"}});
  EXPECT_THAT(labels(expansion), ElementsAre("seq_len=32 steps=3 scan=true"));
  EXPECT_EQ(expansion.cells.at(0).run.seq_len, 32);
  EXPECT_EQ(expansion.cells.at(0).run.steps, 3);
  EXPECT_TRUE(expansion.cells.at(0).run.scan);
}

TEST(Sizes, HaveUnitsWhereverAKeyIsANumberOfBytes) {
  const auto expansion =
      expand_text(kBase +
                      "axes: {memory_limit_bytes: [512MiB, 4GB, 0]}\n"
                      "overrides: [{when: {memory_limit_bytes: 4GB}, set: {all_reduce_combine_bytes: 32 MiB}}]\n"
                      "constraints: ['memory_limit_bytes < 4GiB']\n",
                  {.only = {"memory_limit_bytes=0.004TB,512MiB"}});
  EXPECT_THAT(labels(expansion), ElementsAre("memory_limit_bytes=512MiB", "memory_limit_bytes=4GB"));
  EXPECT_EQ(expansion.cells.at(0).run.memory_limit_bytes, 512 << 20);
  EXPECT_EQ(expansion.cells.at(0).run.all_reduce_combine_bytes, 0);
  EXPECT_EQ(expansion.cells.at(1).run.memory_limit_bytes, 4'000'000'000);
  EXPECT_EQ(expansion.cells.at(1).run.all_reduce_combine_bytes, 32 << 20);
  EXPECT_EQ(expand_text(kBase, {.set = {"memory_limit_bytes=4GB"}}).cells.at(0).run_id,
            expand_text(kBase, {.set = {"memory_limit_bytes=4000000000"}}).cells.at(0).run_id);
}

TEST(Sizes, InvalidOnesAreAnsweredWithExamples) {
  const std::string wanted = "a size such as 512MiB, 4GB or 1.5TiB, or a whole number of bytes";
  for (const std::string value : {"4 gigs", "1h", "-4GB", "4G", "9999999TiB"}) {
    EXPECT_EQ(error_of(kBase + "axes: {memory_limit_bytes: [" + value + "]}\n"),
              "[matrix] m.yaml:3:29 'memory_limit_bytes' is \"" + value + "\", it must be " + wanted);
    EXPECT_EQ(error_of(kBase, {.set = {"memory_limit_bytes=" + value}}),
              "[matrix] --set memory_limit_bytes=" + value + ": 'memory_limit_bytes' must be " + wanted);
  }
}

TEST(Set, ErrorsNameTheOption) {
  EXPECT_EQ(error_of(kBase, {.only = {}, .set = {"steps=few"}}),
            "[matrix] --set steps=few: 'steps' must be a whole number");
  EXPECT_EQ(error_of(kBase, {.only = {}, .set = {"steps=0"}}),
            "[matrix] --set steps=0: 'steps' is 0, it must be at least 1 and at most 1000000000");
  EXPECT_EQ(error_of(kBase, {.only = {}, .set = {"steps"}}), "[matrix] --set 'steps': the form is --set key=value");
  EXPECT_THAT(error_of(kBase, {.only = {}, .set = {"stps=3"}}),
              HasSubstr("unknown key 'stps' (did you mean 'steps'?)"));
  EXPECT_THAT(error_of(kBase, {.only = {}, .set = {"model=tiny-lama"}}), HasSubstr("--set model=tiny-lama: "));
  EXPECT_EQ(error_of(kBase, {.only = {}, .set = {"data.path=\xff"}}), "[matrix] --set: the value is not valid UTF-8");
  EXPECT_THAT(error_of(kBase, {.only = {}, .set = {"learning_rate=1"}}),
              HasSubstr("unknown key 'learning_rate' (did you mean 'optimizer.learning_rate'?)"));
}

TEST(Expand, RefusesTooManyCells) {
  std::string values;
  for (int i = 1; i <= 400; ++i) values += (i > 1 ? ", " : "") + std::to_string(i);
  EXPECT_EQ(error_of(kBase + "axes:\n  steps: [" + values + "]\n  seed: [" + values + "]\n"),
            "[matrix] m.yaml:3:1 400 (steps) x 400 (seed) makes more than 100000 cells; split the matrix or its axes");
}

TEST(Expand, AMeshBeyondAllDevicesDoesNotOverflow) {
  EXPECT_THAT(
      error_of(kBase + "axes: {fsdp: [1000000]}\nzip: {dcn_fsdp: [1000000], dcn_dp: [1000000], dp: [1000000]}\n"),
      HasSubstr("the axes multiply to more than 10000000 devices"));
}

}  // namespace
}  // namespace perfbench::harness
