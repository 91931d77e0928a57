// Explanations of a cell's memory and its alternatives, with the simulated counts of fake_dry_engine.cpp: 2 layers,
// each with 1 MiB of weights and 1 MiB of activations for each token of a sequence.
#include "harness/plan/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/plan/variants.h"

namespace perfbench::harness {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Cell cell_of(const std::string& more) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR "/tests/harness/matrix_data");
  const auto text = "name: m\ndefaults: {model: tiny-llama, seq_len: 40, global_batch: 8, " + more + "}\n";
  return expand(YamlDocument::parse(text, "matrix", "m.yaml"), catalog, {}).cells.at(0);
}

Explanation explain(const Cell& cell) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR "/tests/harness/matrix_data");
  return explain_cell(cell, {.engine = {PERFBENCH_FAKE_DRY_ENGINE}, .catalog = &catalog});
}

std::vector<std::string> labels(const std::vector<Alternative>& alternatives) {
  std::vector<std::string> out;
  for (const auto& alternative : alternatives) out.push_back(alternative.planned.cell.label);
  return out;
}

std::vector<std::string> labels(const std::vector<Variant>& variants) {
  std::vector<std::string> out;
  for (const auto& variant : variants) out.push_back(variant.cell.label);
  return out;
}

std::vector<std::string> single_changes(const Cell& cell, std::int64_t devices_per_node = 8) {
  return labels(variants(cell, change_options(cell.run, devices_per_node), 1));
}

TEST(Explanation, ACellThatDoesNotFitHasTheAlternativesWithTheLeastRecomputationFirst) {
  const auto explanation = explain(cell_of("memory_limit_bytes: 52428800"));  // 50 MiB, of 82
  EXPECT_EQ(explanation.cell.state, PlanState::infeasible);
  EXPECT_EQ(explanation.cell.memory_needed_bytes, 82 << 20);
  EXPECT_THAT(explanation.cell.counts->live_at_peak, SizeIs(4)) << "every tensor";
  EXPECT_THAT(labels(explanation.alternatives),
              ElementsAre("grad_accum=2", "grad_accum=4", "grad_accum=8", "remat=minimal_offloaded", "remat=full"));
  EXPECT_EQ(explanation.alternatives.front().planned.memory_needed_bytes, 42 << 20);
  EXPECT_EQ(explanation.alternatives.at(3).planned.counts->offloaded_bytes, 80 << 20);
  EXPECT_FALSE(explanation.smallest);
}

// 2 MiB of weights, and an eighth of one layer's activations.
TEST(Explanation, TriesPairsIfNoSingleChangeIsEnough) {
  const auto explanation = explain(cell_of("memory_limit_bytes: 8388608"));  // 8 MiB
  EXPECT_THAT(labels(explanation.alternatives),
              ElementsAre("remat=minimal_offloaded grad_accum=8", "remat=full grad_accum=8"));
  EXPECT_EQ(explanation.alternatives.front().planned.memory_needed_bytes, 7 << 20);
}

// Two policies and three numbers of microbatches reduce memory on their own: 6 pairs, after all the single changes.
TEST(Explanation, NamesTheSmallestAlternativeIfNothingFits) {
  const auto cell = cell_of("memory_limit_bytes: 1048576");
  const auto explanation = explain(cell);
  EXPECT_THAT(explanation.alternatives, IsEmpty());
  ASSERT_TRUE(explanation.smallest);
  EXPECT_EQ(explanation.smallest->planned.memory_needed_bytes, 7 << 20);
  EXPECT_EQ(explanation.smallest->options.size(), 2U);
  EXPECT_EQ(explanation.tried, single_changes(cell, 0).size() + 6);
}

TEST(Explanation, ACellThatFitsHasPoliciesThatRecomputeLess) {
  const auto roomy = explain(cell_of("remat: full, memory_limit_bytes: 1073741824"));
  EXPECT_EQ(roomy.cell.state, PlanState::feasible);
  EXPECT_THAT(labels(roomy.alternatives), AllOf(Contains("remat=none"), Contains("remat=minimal_offloaded")));
  EXPECT_EQ(roomy.alternatives.back().planned.cell.label, "remat=minimal_offloaded") << "it computes most of those";
  EXPECT_THAT(labels(explain(cell_of("remat: full, memory_limit_bytes: 52428800")).alternatives),
              ElementsAre("remat=minimal_offloaded"));
  EXPECT_THAT(explain(cell_of("remat: none, memory_limit_bytes: 1073741824")).alternatives, IsEmpty());
}

TEST(Explanation, ACellThatCannotBeCountedHasOnlyItsReason) {
  const auto explanation = explain(cell_of("precision: tf32"));
  EXPECT_EQ(explanation.cell.state, PlanState::infeasible);
  EXPECT_EQ(explanation.cell.counts, nullptr);
  EXPECT_THAT(explanation.alternatives, IsEmpty());
  EXPECT_FALSE(explanation.smallest);
}

TEST(Variants, HaveEveryOtherPolicyOnce) {
  const auto changes = single_changes(cell_of("remat: full"));
  EXPECT_THAT(changes, AllOf(Contains("remat=none"), Contains("remat=save_qkv_proj"), Contains("remat=minimal")));
  EXPECT_THAT(changes, Not(Contains("remat=full")));
  EXPECT_THAT(changes, Not(Contains("remat=custom")));
}

// The custom plan {layer_input: device} equals that of full.
TEST(Variants, LeaveOutPoliciesThatEqualTheRuns) {
  EXPECT_THAT(single_changes(cell_of("remat: custom, remat_custom: {layer_input: device}")),
              Not(Contains("remat=full")));
}

TEST(Variants, MoveTheKeptValuesToTheHost) {
  EXPECT_THAT(single_changes(cell_of("remat: full")), Contains("remat=custom remat_custom={layer_input: offload}"));
  EXPECT_THAT(single_changes(cell_of("remat: custom, remat_custom: {out_proj: offload, layer_input: device}")),
              Contains("remat_custom={layer_input: offload, out_proj: offload}"));
  const auto moved = cell_of("remat: custom, remat_custom: {layer_input: offload, out_proj: remat}");
  EXPECT_THAT(single_changes(moved), Not(Contains(HasSubstr("remat_custom")))) << "nothing is left to be sent";
}

TEST(Variants, TradeDpForFsdpOnAsManyDevices) {
  const auto cell = cell_of("dp: 2, dcn_dp: 2, grad_accum: 2");
  const auto changes = single_changes(cell);
  EXPECT_THAT(changes, AllOf(Contains("dp=1 fsdp=2"), Contains("dcn_dp=1 dcn_fsdp=2")));
}

// Each of 4 ranks had 2 sequences in one microbatch; each of 2 ranks has two such microbatches.
TEST(Variants, TradeFsdpForTpInsideANode) {
  EXPECT_THAT(single_changes(cell_of("fsdp: 4")), Contains("fsdp=2 tp=2 grad_accum=2"));
  EXPECT_THAT(single_changes(cell_of("dcn_fsdp: 4")), Not(Contains(HasSubstr("tp="))));
}

// 8 sequences: each of 2 ranks has two microbatches of 2, each of 4 ranks has one, and 16 ranks have nothing to do.
TEST(Variants, MoreDevicesKeepTheBatchAndTheMicrobatch) {
  const auto cell = cell_of("fsdp: 2, grad_accum: 2");
  EXPECT_THAT(single_changes(cell, 8), AllOf(Contains("fsdp=4 grad_accum=1"), Contains("fsdp=8 grad_accum=1")));
  EXPECT_THAT(single_changes(cell, 4), AllOf(Contains("fsdp=4 grad_accum=1"), Contains("dcn_fsdp=4 grad_accum=1")));
  for (const auto& variant : variants(cell, change_options(cell.run, 8), 1)) {
    EXPECT_LE(variant.cell.run.mesh.devices(), 8) << variant.cell.label;
    EXPECT_EQ(variant.cell.run.global_batch, 8);
  }
}

TEST(Variants, DivideARanksSequencesIntoMoreMicrobatches) {
  auto cell = cell_of("fsdp: 1");
  cell.run.global_batch = 12;
  const auto changes = single_changes(cell);
  EXPECT_THAT(changes, AllOf(Contains("grad_accum=2"), Contains("grad_accum=4"), Contains("grad_accum=12")));
  EXPECT_THAT(changes, Not(Contains("grad_accum=8"))) << "12 sequences do not divide over 8";
}

TEST(Variants, DisablePrefetchIfThatIsAChange) {
  EXPECT_THAT(single_changes(cell_of("fsdp: 2")), Contains("fsdp_prefetch=0"));
  EXPECT_THAT(single_changes(cell_of("fsdp: 1")), Not(Contains("fsdp_prefetch=0")));
  EXPECT_THAT(single_changes(cell_of("fsdp: 2, fsdp_prefetch: 0")), Not(Contains("fsdp_prefetch=0")));
}

TEST(Variants, TwoChangesAreOfTwoKinds) {
  const auto cell = cell_of("fsdp: 2");
  std::set<std::string> ids;
  for (const auto& variant : variants(cell, change_options(cell.run, 8), 2)) {
    EXPECT_EQ(variant.options.size(), 2U);
    EXPECT_TRUE(ids.insert(variant.cell.run_id).second) << variant.cell.label << " is there twice";
  }
  const auto pairs = labels(variants(cell, change_options(cell.run, 8), 2));
  EXPECT_THAT(pairs, AllOf(Contains("remat=full fsdp_prefetch=0"), Contains("remat=full grad_accum=4")));
}

}  // namespace
}  // namespace perfbench::harness
