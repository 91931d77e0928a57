// The matrices that come with perfbench: each expands, and has the cells that its comment promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "workloads/spec/parameter_table.h"

namespace perfbench::harness {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Expansion expand_file(const std::string& name, const Overrides& overrides = {}) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
  const auto file = std::filesystem::path(PERFBENCH_SOURCE_DIR) / "matrices" / (name + ".yaml");
  return expand(YamlDocument::load(file, "matrix"), catalog, overrides);
}

// The cells that a machine without GPUs executes.
std::vector<Cell> cpu_cells(const Expansion& expansion) {
  std::vector<Cell> out;
  for (const auto& cell : expansion.cells) {
    if (!cell.excluded && !cell.infeasible && cell.run.device == spec::Device::cpu) out.push_back(cell);
  }
  return out;
}

class EveryMatrixFile : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryMatrixFile, ExpandsWithoutContradictionsOrNotices) {
  const auto expansion = expand_file(GetParam());
  EXPECT_EQ(expansion.name, GetParam()) << "a matrix is named as its file";
  EXPECT_FALSE(expansion.description.empty());
  EXPECT_THAT(expansion.notices, IsEmpty());
  for (const auto& cell : expansion.cells) {
    EXPECT_FALSE(cell.infeasible.has_value()) << cell.label << ": " << cell.infeasible.value_or("");
  }
}

std::vector<std::string> matrix_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(PERFBENCH_SOURCE_DIR "/matrices")) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}
INSTANTIATE_TEST_SUITE_P(Matrices, EveryMatrixFile, ::testing::ValuesIn(matrix_names()),
                         [](const auto& matrix) { return matrix.param; });

TEST(MatrixFiles, QuickstartHasTwoFamiliesOneAndTwoRanksBothAttentionsAndThreePolicies) {
  const auto cells = cpu_cells(expand_file("quickstart"));
  std::set<std::string> models;
  std::set<std::string> policies;
  std::set<std::int64_t> ranks;
  std::set<spec::AttentionKind> attentions;
  for (const auto& cell : cells) {
    models.insert(cell.run.model.name);
    policies.insert(cell.run.remat);
    ranks.insert(cell.run.mesh.devices());
    attentions.insert(cell.run.attention);
  }
  EXPECT_THAT(cells, SizeIs(12));
  EXPECT_THAT(models, SizeIs(2));
  EXPECT_THAT(policies, SizeIs(3));
  EXPECT_EQ(ranks, (std::set<std::int64_t>{1, 2}));
  EXPECT_THAT(attentions, SizeIs(2));
}

TEST(MatrixFiles, LlamaRangesFrom405BOn512DevicesToModelsThatRunHere) {
  const auto expansion = expand_file("llama");
  const auto large = std::find_if(expansion.cells.begin(), expansion.cells.end(), [](const Cell& cell) {
    return cell.run.model.name == "torchprime-llama-3.1-405b" && cell.run.mesh.devices() == 512;
  });
  ASSERT_NE(large, expansion.cells.end());
  EXPECT_EQ(large->run.mesh.fsdp(), 512);
  EXPECT_EQ(large->run.hardware, "h100");
  EXPECT_EQ(spec::count_parameters(large->run.model).total, 405'853'388'800);
  EXPECT_THAT(cpu_cells(expansion), SizeIs(16));
}

// A CPU of two cores does about 1e11 FLOP/s: these steps take seconds.
TEST(MatrixFiles, TheSmallModelsOfSeqaxAndPaxRunOnACpuForAFewSteps) {
  for (const auto& [matrix, model] : {std::pair{"seqax", "seqax-84m"}, std::pair{"pax_gpt", "pax-gpt-126m"}}) {
    const auto expansion =
        expand_file(matrix, {.only = {std::string("model=") + model}, .set = {"seq_len=128", "steps=3"}});
    auto cells = cpu_cells(expansion);
    std::erase_if(cells, [](const Cell& cell) { return cell.run.mesh.devices() > 1; });  // set=local
    ASSERT_THAT(cells, SizeIs(1)) << matrix;
    const auto& run = cells[0].run;
    EXPECT_EQ(run.mesh.devices(), 1);
    EXPECT_EQ(run.steps, 3);
    EXPECT_EQ(run.seq_len, 128);
    EXPECT_LE(run.global_batch * run.seq_len, 512);
  }
}

TEST(MatrixFiles, SeqaxAndPaxHoldTheConfigurationsOfTheirReferences) {
  for (const auto& cell : expand_file("seqax", {.only = {"machine=a100x8"}, .set = {}}).cells) {
    EXPECT_EQ(cell.run.mesh.fsdp(), 8);
    EXPECT_EQ(cell.run.global_batch, 64);
    EXPECT_EQ(cell.run.seq_len, 1024);
  }
  const auto pax = expand_file("pax_gpt", {.only = {"machine=h100", "precision=bf16"}, .set = {}}).cells;
  ASSERT_THAT(pax, SizeIs(3));
  EXPECT_EQ(pax[0].run.mesh.dp(), 64);
  EXPECT_EQ(pax[0].run.global_batch, 256);
  EXPECT_EQ(pax[1].run.mesh.fsdp(), 256);
  EXPECT_EQ(pax[1].run.global_batch, 2048);
  EXPECT_EQ(pax[2].run.global_batch, 1536);
}

// As its comment says: the fixed cost of a step is spread over the same number of tokens in every cell.
TEST(MatrixFiles, GpuHas65536TokensAStepInMicrobatches) {
  const auto cells = expand_file("gpu").cells;
  // In addition to sizes and to other ways of doing the same work: three models at one length, two at five, and one in
  // bf16 and in fp8.
  const auto fair_rows = std::count_if(
      cells.begin(), cells.end(), [](const Cell& cell) { return cell.run.optimizer.moments == spec::StateType::bf16; });
  EXPECT_EQ(fair_rows, 2 * (3 + 2 * 5 + 1));
  EXPECT_EQ(cells.size(), 9U * 2 + 4 + 28);
  for (const auto& cell : cells) {
    EXPECT_EQ(cell.run.device, spec::Device::cuda) << cell.label;
    EXPECT_EQ(cell.run.global_batch * cell.run.seq_len, 65536) << cell.label;
    const auto microbatch_tokens = cell.run.microbatch() * cell.run.seq_len;
    EXPECT_GE(microbatch_tokens, 4096) << cell.label;
    EXPECT_LE(microbatch_tokens, 32768) << cell.label;
  }
}

// The work of two cores in a minute: models of a few MFLOP a token, a few thousand tokens, no more ranks than cores.
TEST(MatrixFiles, TheLocalSelectionOfEachReferenceSystemRunsOnTwoCores) {
  for (const char* name :
       {"axlearn_fuji", "maxtext", "pax_gpt", "pax_glam", "pax_llama_finetune", "seqax", "torchprime"}) {
    const auto cells = expand_file(name, {.only = {"set=local"}, .set = {}}).cells;
    EXPECT_THAT(cells, SizeIs(::testing::AllOf(::testing::Ge(3U), ::testing::Le(9U)))) << name;
    for (const auto& cell : cells) {
      EXPECT_FALSE(cell.excluded.has_value()) << cell.label;
      EXPECT_EQ(cell.run.device, spec::Device::cpu) << cell.label;
      const bool fp8 = cell.run.precision == spec::Precision::fp8 && std::string_view(name) == "pax_gpt";
      EXPECT_TRUE(fp8 || cell.run.precision == spec::Precision::fp32) << cell.label;
      EXPECT_EQ(cell.run.mesh.devices(), 2) << cell.label;
      EXPECT_LE(spec::count_parameters(cell.run.model).matmul_active, 2'000'000) << cell.label;
      EXPECT_LE(cell.run.steps * cell.run.global_batch * cell.run.seq_len, 4096) << cell.label;
    }
  }
}

// So that a report of the two shows only the effect of packing.
TEST(MatrixFiles, FineTuningHasACellThatDiffersOnlyInPacking) {
  const auto cells = expand_file("pax_llama_finetune", {.only = {"set=local"}, .set = {}}).cells;
  const auto packed =
      std::find_if(cells.begin(), cells.end(), [](const Cell& cell) { return cell.run.packs_documents(); });
  ASSERT_NE(packed, cells.end());
  auto padded = packed->run;
  padded.data.packing = spec::Packing::none;
  EXPECT_TRUE(std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.run_id == run_id(padded); }));
}

}  // namespace
}  // namespace perfbench::harness
