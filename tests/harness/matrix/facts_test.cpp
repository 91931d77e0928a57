// Compares the matrices of reference systems with those systems' own files, which the tables below name. The tables are
// read from the sources, not from the matrices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "workloads/spec/remat_policy.h"

namespace perfbench::harness {
namespace {

std::vector<Cell> cells_for_gpus(const std::string& matrix) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
  const auto file = std::filesystem::path(PERFBENCH_SOURCE_DIR) / "matrices" / (matrix + ".yaml");
  auto cells = expand(YamlDocument::load(file, "matrix"), catalog, {}).cells;
  std::erase_if(cells, [](const Cell& cell) { return cell.run.device == spec::Device::cpu; });
  return cells;
}

using Mesh = std::array<std::int64_t, 3>;  // dp, fsdp, tp
Mesh mesh_of(const spec::RunSpec& run) {
  return {run.mesh.dp(), run.mesh.fsdp(), run.mesh.tp()};
}

using ModelAndDevices = std::pair<std::string, std::int64_t>;
ModelAndDevices key_of(const spec::RunSpec& run) {
  return {run.model.name, run.mesh.devices()};
}

// apple/axlearn, axlearn/experiments/text/gpt/fuji.py at 34aed43c1b6e, get_trainer_kwargs: mesh rules of
// gpu-p5.48xlarge, TOKENS_PER_BATCH over MAX_SEQUENCE_LENGTH, and make_single_host_config's batches with its comment on
// 7B-v2.
struct FujiFact {
  Mesh mesh;
  std::int64_t global_batch = 0;
  std::int64_t seq_len = 0;
};
const std::map<ModelAndDevices, FujiFact>& fuji_facts() {
  static const std::map<ModelAndDevices, FujiFact> kFacts{
      {{"axlearn-fuji-3B-v3", 8}, {{1, 8, 1}, 16, 8192}},
      {{"axlearn-fuji-7B-v1", 8}, {{1, 8, 1}, 64, 2048}},
      {{"axlearn-fuji-7B-v1", 256}, {{32, 8, 1}, 2048, 2048}},
      {{"axlearn-fuji-7B-v1", 512}, {{64, 8, 1}, 2048, 2048}},
      {{"axlearn-fuji-7B-v2", 8}, {{1, 8, 1}, 16, 4096}},
      {{"axlearn-fuji-7B-v2", 256}, {{32, 8, 1}, 1024, 4096}},
      {{"axlearn-fuji-70B-v2", 512}, {{4, 128, 1}, 1024, 4096}},
      {{"axlearn-fuji-70B-v3", 512}, {{4, 128, 1}, 2048, 8192}},
  };
  return kFacts;
}

TEST(MatrixFacts, AxlearnFujiHasTheMeshesAndBatchesOfFuji) {
  const auto cells = cells_for_gpus("axlearn_fuji");
  EXPECT_EQ(cells.size(), fuji_facts().size());
  for (const auto& cell : cells) {
    const auto fact = fuji_facts().find(key_of(cell.run));
    ASSERT_NE(fact, fuji_facts().end()) << cell.label;
    EXPECT_EQ(mesh_of(cell.run), fact->second.mesh) << cell.label;
    EXPECT_EQ(cell.run.global_batch, fact->second.global_batch) << cell.label;
    EXPECT_EQ(cell.run.seq_len, fact->second.seq_len) << cell.label;
    EXPECT_EQ(cell.run.mesh.ici.size(), 8) << cell.label << ": a p5.48xlarge has eight GPUs";
  }
}

// AI-Hypercomputer/torchprime, torchprime/torch_xla_models/README.md (recipes: batch, mesh, model/remat) and
// configs/model/*.yaml at 1504a885b6a4 (defaults: llama-3.1-405b names llama-scan-offload, mixtral-8x7b names mixtral,
// which checkpoints layers and scans none). llama-scan-offload sends decoder_input to the host.
struct RecipeFact {
  Mesh mesh;
  std::int64_t global_batch = 0;
  spec::SavePlace layer_input = spec::SavePlace::device;
  bool scan = true;
};
const std::map<ModelAndDevices, RecipeFact>& recipe_facts() {
  using enum spec::SavePlace;
  static const std::map<ModelAndDevices, RecipeFact> kFacts{
      {{"torchprime-llama-3-8b", 256}, {{1, 256, 1}, 1024, device, true}},
      {{"torchprime-llama-3.1-8b", 256}, {{1, 256, 1}, 1024, device, true}},
      {{"torchprime-llama-3.1-70b", 256}, {{1, 256, 1}, 512, offload, true}},
      {{"torchprime-llama-3.1-405b", 256}, {{1, 64, 4}, 256, offload, true}},
      {{"torchprime-llama-3.1-405b", 512}, {{1, 128, 4}, 512, offload, true}},
      {{"torchprime-mixtral-8x7b", 256}, {{1, 256, 1}, 512, device, false}},
  };
  return kFacts;
}

TEST(MatrixFacts, TorchprimeHasTheMeshesBatchesRematAndScanOfItsRecipes) {
  const auto cells = cells_for_gpus("torchprime");
  std::size_t recipes = 0;
  for (const auto& cell : cells) {
    const auto fact = recipe_facts().find(key_of(cell.run));
    ASSERT_NE(fact, recipe_facts().end()) << cell.label;
    const auto remat = spec::resolve_remat(cell.run);
    EXPECT_EQ(remat[spec::Saved::layer_input], fact->second.layer_input) << cell.label;
    for (const auto& [name, text] : spec::EnumNames<spec::Saved>::kNames) {
      EXPECT_EQ(remat.keeps(name), name == spec::Saved::layer_input) << cell.label << ": " << text;
    }
    EXPECT_EQ(cell.run.scan, fact->second.scan) << cell.label;
    EXPECT_EQ(cell.run.seq_len, 8192) << cell.label;
    EXPECT_EQ(cell.run.global_batch, fact->second.global_batch) << cell.label;
    const bool without_tp = cell.run.mesh.tp() == 1 && fact->second.mesh[2] > 1;  // planned in addition to the recipe
    if (without_tp) continue;
    EXPECT_EQ(mesh_of(cell.run), fact->second.mesh) << cell.label;
    ++recipes;
  }
  EXPECT_EQ(recipes, recipe_facts().size());
}

// MatX-inc/seqax, configs/c4_a100x8_*.yaml, c4_a100x8x4_*.yaml and c4_a100x8_base.yaml at 42cf9af49cbb: learning_rate,
// warmup_steps, steps_for_lr; train.py adds the cosine and clips the gradient's norm at 1.
struct ScheduleFact {
  double learning_rate = 0;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;
};
const std::map<ModelAndDevices, ScheduleFact>& schedule_facts() {
  static const std::map<ModelAndDevices, ScheduleFact> kFacts{
      {{"seqax-84m", 8}, {3e-3, 2600, 26000}},    {{"seqax-270m", 8}, {3e-4, 9200, 92000}},
      {{"seqax-540m", 8}, {3e-4, 18500, 185000}}, {{"seqax-1b", 8}, {1e-5, 37000, 370000}},
      {{"seqax-2b", 8}, {1e-5, 74000, 740000}},   {{"seqax-540m-x4", 32}, {3e-4, 4625, 46250}},
      {{"seqax-1b", 32}, {1e-5, 9250, 92500}},    {{"seqax-2b", 32}, {1e-5, 18500, 185000}},
  };
  return kFacts;
}

TEST(MatrixFacts, SeqaxHasTheScheduleOfItsConfigurations) {
  std::size_t found = 0;
  for (const auto& cell : cells_for_gpus("seqax")) {
    if (cell.excluded) continue;
    const auto fact = schedule_facts().find(key_of(cell.run));
    ASSERT_NE(fact, schedule_facts().end()) << cell.label;
    ++found;
    const auto& optimizer = cell.run.optimizer;
    EXPECT_EQ(optimizer.learning_rate, fact->second.learning_rate) << cell.label;
    EXPECT_EQ(optimizer.warmup_steps, fact->second.warmup_steps) << cell.label;
    EXPECT_EQ(optimizer.decay_steps, fact->second.decay_steps) << cell.label;
    EXPECT_EQ(optimizer.min_lr_ratio, 0.1);
    EXPECT_EQ(optimizer.beta1, 0.9);
    EXPECT_EQ(optimizer.beta2, 0.95);
    EXPECT_EQ(optimizer.eps, 1e-8);
    EXPECT_EQ(optimizer.weight_decay, 0.1);
    EXPECT_EQ(optimizer.clip_norm, 1.0);
    EXPECT_EQ(mesh_of(cell.run), (Mesh{1, cell.run.mesh.devices(), 1})) << cell.label;
    EXPECT_EQ(cell.run.global_batch, 8 * cell.run.mesh.devices()) << cell.label;
  }
  EXPECT_EQ(found, schedule_facts().size());
}

// MatX-inc/seqax, train.py at 42cf9af49cbb: loop_body keeps these values with save_for_backward (queries, keys and
// values, x + attn_out, gate_proj, up_proj; mean2 in rms_norm) in addition to its argument; logits by
// preferred_element_type=float32.
TEST(MatrixFacts, SeqaxKeepsTheValuesThatItsTrainingStepSaves) {
  using enum spec::Saved;
  const std::set<spec::Saved> saved{layer_input, norm_statistics, query_proj, key_proj,
                                    value_proj,  out_proj,        mlpwi_0,    mlpwi_1};
  for (const auto& cell : cells_for_gpus("seqax")) {
    const auto remat = spec::resolve_remat(cell.run);
    for (const auto& [name, text] : spec::EnumNames<spec::Saved>::kNames) {
      if (text.starts_with("moe_")) continue;  // it has no experts
      EXPECT_EQ(remat[name], saved.contains(name) ? spec::SavePlace::device : spec::SavePlace::remat)
          << cell.label << ": " << text;
    }
    EXPECT_EQ(cell.run.precision, spec::Precision::bf16) << cell.label;
    EXPECT_EQ(cell.run.logits, spec::LogitsType::fp32) << cell.label;
  }
}

// NVIDIA JAX-Toolbox, docs/frameworks/maxtext/README.md: the command for Llama 2 7B.
TEST(MatrixFacts, MaxtextHasTheCommandOfItsReadme) {
  const auto cells = cells_for_gpus("maxtext");
  const auto count = std::count_if(cells.begin(), cells.end(), [](const Cell& cell) {
    const auto& run = cell.run;
    return run.model.name == "maxtext-llama2-7b" && run.seq_len == 4096 && run.global_batch == 16 && run.steps == 15 &&
           run.scan && run.remat == "minimal" && run.attention == spec::AttentionKind::dot_product &&
           run.embedding == spec::EmbeddingKind::one_hot && run.logits == spec::LogitsType::compute;
  });
  EXPECT_EQ(count, 1);
}

// google/paxml, contrib/gpu/scripts_gpu/configs.py at 04516ac858bb: GPT5B sets input_dropout_prob 0.1 for the block
// that StackedTransformerRepeated repeats, one layer of praxis, layers/transformers.py; nothing else sets a rate.
TEST(MatrixFacts, PaxDropsTheInputOfEachLayerOf5B) {
  std::size_t dropping = 0;
  for (const auto& cell : cells_for_gpus("pax_gpt")) {
    const bool is_5b = cell.run.model.name == "pax-gpt-5b";
    EXPECT_EQ(cell.run.dropout, spec::DropoutSpec{.layer_input = is_5b ? 0.1 : 0.0}) << cell.label;
    dropping += is_5b ? 1 : 0;
  }
  EXPECT_GT(dropping, 0U);
}

}  // namespace
}  // namespace perfbench::harness
