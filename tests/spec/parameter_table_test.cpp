#include "workloads/spec/parameter_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace perfbench::spec {
namespace {

ModelSpec gpt2_124m() {
  ModelSpec model;
  model.name = "gpt2";
  model.layers = 12;
  model.d_model = 768;
  model.n_heads = model.n_kv_heads = 12;
  model.head_dim = 64;
  model.d_ff = 3072;
  model.vocab_size = 50257;
  model.max_seq_len = 1024;
  model.norm = NormKind::layernorm;
  model.activation = Activation::gelu_tanh;
  model.bias = BiasKind::all;
  model.tied_embedding = true;
  model.position.kind = PositionKind::learned;
  return model;
}

ModelSpec llama2_7b() {
  ModelSpec model;
  model.name = "llama2-7b";
  model.layers = 32;
  model.d_model = 4096;
  model.n_heads = model.n_kv_heads = 32;
  model.head_dim = 128;
  model.d_ff = 11008;
  model.vocab_size = 32000;
  model.max_seq_len = 4096;
  return model;
}

// The totals of OpenAI's and Meta's releases.
TEST(ParameterTable, AddsUpToTheReleasedModels) {
  EXPECT_EQ(count_parameters(gpt2_124m()).total, 124'439'808);
  EXPECT_EQ(count_parameters(llama2_7b()).total, 6'738'415'616);
}

// Every weight except embedding lookup, norms, biases and positions multiplies a token once.
TEST(ParameterTable, CountsTheWeightsThatMultiplyAToken) {
  // 12 layers x (4 x 768^2 + 2 x 768 x 3072) + tied unembedding 50257 x 768
  EXPECT_EQ(count_parameters(gpt2_124m()).matmul_active, 12 * (4 * 768 * 768 + 2 * 768 * 3072) + 50257LL * 768);
  // 32 layers x (4 x 4096^2 + 3 x 4096 x 11008) + unembedding
  EXPECT_EQ(count_parameters(llama2_7b()).matmul_active, 32LL * (4 * 4096 * 4096 + 3 * 4096 * 11008) + 32000LL * 4096);
}

TEST(ParameterTable, CountsOnlyTheChosenExpertsAndTheRouter) {
  auto model = llama2_7b();
  const auto dense = count_parameters(model);
  model.moe.n_experts = 8;
  model.moe.top_k = 2;
  model.moe.d_ff = 11008;
  const auto moe = count_parameters(model);
  const std::int64_t expert = 3LL * 4096 * 11008;
  const std::int64_t router = 8LL * 4096;
  EXPECT_EQ(moe.total - dense.total, 32 * (7 * expert + router));
  EXPECT_EQ(moe.matmul_active - dense.matmul_active, 32 * (expert + router));
}

// Layers of one kind are counted once; the table has every tensor.
TEST(ParameterTable, CountsWhatTheTableLists) {
  for (const std::int64_t experts : {0, 4}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t layers : {1, 2, 3, 5, 6}) {
        auto model = gpt2_124m();
        model.layers = layers;
        model.moe = {.n_experts = experts, .top_k = 2, .layer_stride = stride, .d_ff = 64};
        std::int64_t total = 0;
        for (const auto& parameter : parameter_table(model)) total += parameter.elements();
        EXPECT_EQ(count_parameters(model).total, total) << experts << " " << stride << " " << layers;
      }
    }
  }
}

TEST(ParameterTable, PutsExpertsInEveryStrideThLayerFromTheFirst) {
  auto model = llama2_7b();
  model.layers = 5;
  model.moe = {.n_experts = 4, .top_k = 2, .layer_stride = 2, .d_ff = 64};
  std::set<std::int64_t> layers;
  for (const auto& parameter : parameter_table(model)) {
    if (parameter.kind == ParameterKind::expert) layers.insert(parameter.layer);
  }
  EXPECT_EQ(layers, (std::set<std::int64_t>{0, 2, 4}));
}

TEST(ParameterTable, GroupedQueriesShrinkKeysAndValuesOnly) {
  auto model = llama2_7b();
  model.n_kv_heads = 8;
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& parameter : layer_parameters(model, 3)) shapes[parameter.name] = parameter.shape;
  EXPECT_EQ(shapes.at("layers.3.query.weight"), (std::vector<std::int64_t>{4096, 4096}));
  EXPECT_EQ(shapes.at("layers.3.key.weight"), (std::vector<std::int64_t>{1024, 4096}));
  EXPECT_EQ(shapes.at("layers.3.value.weight"), (std::vector<std::int64_t>{1024, 4096}));
  EXPECT_EQ(shapes.at("layers.3.out.weight"), (std::vector<std::int64_t>{4096, 4096}));
}

TEST(ParameterTable, BiasesOfQwenAreOnQueryKeyAndValueOnly) {
  auto model = llama2_7b();
  model.bias = BiasKind::qkv;
  std::set<std::string> biases;
  for (const auto& parameter : layer_parameters(model, 0)) {
    if (parameter.kind == ParameterKind::bias) biases.insert(parameter.name);
  }
  EXPECT_EQ(biases, (std::set<std::string>{"layers.0.query.bias", "layers.0.key.bias", "layers.0.value.bias"}));
}

TEST(ParameterTable, ANormOfHeadsHasOneWeightForAllHeadsOfALayer) {
  auto model = llama2_7b();
  const auto without = count_parameters(model);
  model.qk_norm = QkNorm::head;
  std::map<std::string, ParameterSpec> by_name;
  for (const auto& parameter : layer_parameters(model, 3)) by_name[parameter.name] = parameter;
  for (const char* name : {"layers.3.query_norm.weight", "layers.3.key_norm.weight"}) {
    EXPECT_EQ(by_name.at(name).shape, (std::vector<std::int64_t>{128})) << name;
    EXPECT_EQ(by_name.at(name).dims, "head_dim") << name;
    EXPECT_EQ(by_name.at(name).kind, ParameterKind::norm) << name;
  }
  EXPECT_EQ(count_parameters(model).total, without.total + 32 * 2 * 128);
  EXPECT_EQ(count_parameters(model).matmul_active, without.matmul_active);
}

// 32 layers, d_model and both projections 4096 wide: two more norms in each layer.
TEST(ParameterTable, CountsTheNormsOfBlocksThatTheEngineLacks) {
  auto model = llama2_7b();
  const auto total = count_parameters(model).total;
  model.needs = {MissingBlock::norms_after, MissingBlock::soft_caps};
  EXPECT_EQ(count_parameters(model).total, total);
  model.needs = {MissingBlock::norms_around};
  EXPECT_EQ(count_parameters(model).total, total + 32 * 2 * 4096);
  model.needs = {MissingBlock::projection_norm};
  model.n_kv_heads = 32;
  EXPECT_EQ(count_parameters(model).total, total + 32 * 2 * 4096);
}

// Rank 32 in every linear layer of LLaMA-2 7B: 32 layers x 32 x (4 x (4096 + 4096) + 3 x (4096 + 11008)), as in the
// LoRA runs of Pax's table (workloads/published/pax.yaml).
TEST(ParameterTable, CountsTheAdaptersOfPaxsTable) {
  EXPECT_EQ(count_adapters(llama2_7b(), {.rank = 32}), 79'953'920);
  EXPECT_EQ(count_adapters(llama2_7b(), {.rank = 32, .targets = LoraTargets::attention}), 32 * 32 * 4 * 8192);
  EXPECT_EQ(count_adapters(llama2_7b(), {.rank = 32, .targets = LoraTargets::mlp}), 32 * 32 * 3 * 15104);
  EXPECT_EQ(count_adapters(llama2_7b(), {}), 0);
}

// If a product's output is divided, its adapter's b is; if its input is divided, a is.
TEST(ParameterTable, AdaptersAreDividedAsTheirProducts) {
  auto model = llama2_7b();
  model.n_kv_heads = 8;
  model.moe = {.n_experts = 4, .top_k = 2, .layer_stride = 2, .d_ff = 64};
  std::map<std::string, std::string> dims;
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& parameter : layer_adapters(model, {.rank = 3}, 1)) {
    dims[parameter.name] = parameter.dims;
    shapes[parameter.name] = parameter.shape;
    EXPECT_EQ(parameter.kind, parameter.name.ends_with(".a") ? ParameterKind::adapter_a : ParameterKind::adapter_b);
    EXPECT_EQ(parameter.layer, 1);
  }
  EXPECT_EQ(dims.size(), 14U);
  EXPECT_EQ(dims.at("layers.1.lora.key.a"), "rank d_model");
  EXPECT_EQ(dims.at("layers.1.lora.key.b"), "kv_heads*head_dim/tp rank");
  EXPECT_EQ(dims.at("layers.1.lora.down.a"), "rank d_ff/tp");
  EXPECT_EQ(dims.at("layers.1.lora.down.b"), "d_model rank");
  EXPECT_EQ(shapes.at("layers.1.lora.key.b"), (std::vector<std::int64_t>{1024, 3}));
  EXPECT_EQ(shapes.at("layers.1.lora.down.a"), (std::vector<std::int64_t>{3, 11008}));
  // The other layer's feed-forward block has experts, and its router has no adapter.
  EXPECT_EQ(layer_adapters(model, {.rank = 3}, 0).size(), 8U);
  EXPECT_EQ(count_adapters(model, {.rank = 3, .targets = LoraTargets::mlp}), 16 * 3 * 3 * 15104);
  EXPECT_TRUE(layer_adapters(model, {}, 0).empty());
}

TEST(ParameterTable, NamesEachTensorOnceAndEachDim) {
  auto normed_heads = llama2_7b();
  normed_heads.qk_norm = QkNorm::head;
  auto more_norms = llama2_7b();
  more_norms.needs = {MissingBlock::norms_around, MissingBlock::projection_norm};
  for (const auto& model : {gpt2_124m(), llama2_7b(), normed_heads, more_norms}) {
    std::set<std::string> names;
    for (const auto& parameter : parameter_table(model)) {
      EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
      const auto dims = std::count(parameter.dims.begin(), parameter.dims.end(), ' ') + 1;
      EXPECT_EQ(static_cast<std::size_t>(dims), parameter.shape.size()) << parameter.name;
    }
  }
}

}  // namespace
}  // namespace perfbench::spec
