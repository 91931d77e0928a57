// The part of a parameter that a rank holds if ranks share the work on a layer, and that every mesh starts with the
// same values.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/parallel/collectives.h"
#include "engine/sharding/parameter_store.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/unit_layouts.h"

namespace perfbench::engine {
namespace {

// Both kinds of feed-forward block, key and value heads that three ranks do not divide, odd widths.
spec::ModelSpec with_experts() {
  spec::ModelSpec model = llama_tiny().model;
  model.n_heads = 12;
  model.n_kv_heads = 2;
  model.moe = {.n_experts = 5, .top_k = 2, .layer_stride = 2, .d_ff = 44};
  return model;
}

// Three ranks along each dividing axis, and shards and replicas besides.
constexpr spec::MeshSpec kMesh{.ici = {.dp = 2, .tp = 3, .ep = 2}, .dcn = {.fsdp = 2}};

std::vector<spec::ParameterSpec> parameters() {
  auto all = spec::parameter_table(with_experts());
  const auto biased = spec::parameter_table(gpt_tiny().model);
  all.insert(all.end(), biased.begin(), biased.end());
  return all;
}

// The elements of a slice by their index in the whole parameter.
std::vector<std::int64_t> elements_of(const ParameterSlice& slice) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < slice.elements(); ++i)
    out.push_back(slice.first + i / slice.run * slice.stride + i % slice.run);
  return out;
}

// Oracle: nested loops over the dims, each with the axis that divides it.
std::vector<std::int64_t> expected_elements(const spec::ParameterSpec& p, const Mesh& mesh, bool whole) {
  const auto axes = p.axes();
  std::vector<std::int64_t> out{0};
  for (std::size_t d = 0; d < p.shape.size(); ++d) {
    std::int64_t ranks = 1;
    std::int64_t index = 0;
    if (!whole && axes[d] == "tp") ranks = mesh.size(Axis::tp), index = mesh.index(Axis::tp);
    if (!whole && axes[d] == "ep") ranks = mesh.size(Axis::ep), index = mesh.index(Axis::ep);
    std::vector<std::int64_t> next;
    for (const auto outer : out) {
      // Dealt out one by one: if the ranks do not divide the dim, the first ranks have one more.
      std::int64_t first = 0;
      std::int64_t size = 0;
      for (std::int64_t i = 0; i < p.shape[d]; ++i) {
        if (i % ranks < index) ++first;
        if (i % ranks == index) ++size;
      }
      for (std::int64_t i = first; i < first + size; ++i) next.push_back(outer * p.shape[d] + i);
    }
    out = next;
  }
  return out;
}

TEST(ParameterSlice, FollowsTheDeclaration) {
  const auto model = with_experts();
  for (const auto& p : parameters()) {
    const bool few_heads = p.dims.starts_with("kv_heads") && model.n_kv_heads % 3 != 0;
    for (std::int64_t rank = 0; rank < kMesh.devices(); ++rank) {
      const Mesh mesh(kMesh, rank);
      ASSERT_EQ(elements_of(slice_of(p, model, mesh)), expected_elements(p, mesh, few_heads)) << p.name << " " << rank;
    }
  }
}

TEST(ParameterSlice, IsHeldByTheRanksAlongItsReplicas) {
  const auto model = with_experts();
  for (const auto& p : parameters()) {
    std::map<std::int64_t, std::int64_t> holders;
    std::int64_t replicas = 0;
    for (std::int64_t rank = 0; rank < kMesh.devices(); ++rank) {
      const Mesh mesh(kMesh, rank);
      const auto slice = slice_of(p, model, mesh);
      for (const auto element : elements_of(slice)) ++holders[element];
      replicas = mesh.size(slice.replicas);
      EXPECT_LE(slice.elements(), slice.largest_elements);
    }
    ASSERT_EQ(static_cast<std::int64_t>(holders.size()), p.elements()) << p.name;
    const std::int64_t data_ranks = kMesh.dp() * kMesh.fsdp();
    for (const auto& [element, times] : holders) ASSERT_EQ(times, data_ranks * replicas) << p.name << " " << element;
  }
}

TEST(UnitLayout, IsTheSameOnEveryRankWithSharedParametersFirst) {
  const auto first = unit_layouts(with_experts(), Mesh(kMesh, 0));
  for (std::int64_t rank = 0; rank < kMesh.devices(); ++rank) {
    const auto units = unit_layouts(with_experts(), Mesh(kMesh, rank));
    for (std::size_t u = 0; u < units.size(); ++u) {
      ASSERT_EQ(units[u].elements, first[u].elements);
      std::size_t runs = 1;
      for (std::size_t i = 0; i < units[u].parameters.size(); ++i) {
        ASSERT_EQ(units[u].parameters[i].offset, first[u].parameters[i].offset);
        if (i > 0 && units[u].parameters[i].slice.replicas != units[u].parameters[i - 1].slice.replicas) ++runs;
      }
      EXPECT_EQ(units[u].replica_ranges(0, units[u].elements).size(), runs);
    }
  }
}

// The weights of every rank's shard, by parameter and global element.
std::map<std::string, std::map<std::int64_t, float>> weights_of(const spec::ModelSpec& model,
                                                                const spec::MeshSpec& mesh_spec,
                                                                const spec::LoraSpec& lora = {}) {
  std::map<std::string, std::map<std::int64_t, float>> all;
  for (std::int64_t rank = 0; rank < mesh_spec.devices(); ++rank) {
    cpu::CpuOps ops;
    Memory memory(make_cpu_backing(), make_cpu_backing(), {});
    const auto collectives = make_dry_collectives(Mesh(mesh_spec, rank), {});
    PhaseClock clock;
    const Context context{ops, memory, *collectives, clock};
    spec::RunSpec run;
    run.model = model;
    run.mesh = mesh_spec;
    run.lora = lora;
    ParameterStore store(context, run, {.seed = 3, .matrix_std = 1.0, .constants_std = 0.5}, false);
    for (const auto& unit : store.units()) {
      const std::int64_t shard = store.first_element(unit.layout);
      for (const auto& p : unit.layout.parameters) {
        const auto elements = elements_of(p.slice);
        for (std::size_t i = 0; i < elements.size(); ++i) {
          const std::int64_t at = p.offset + static_cast<std::int64_t>(i) - shard;
          if (at < 0 || at >= unit.layout.shard_elements) continue;
          const float value = unit.weight.view().as<const float>()[at];
          const auto [found, is_new] = all[p.spec.name].emplace(elements[i], value);
          EXPECT_EQ(found->second, value) << p.spec.name << ": ranks that hold the same do not agree";
        }
      }
    }
  }
  return all;
}

TEST(ParameterStore, BeginsWithTheSameBitsOnEveryMesh) {
  const auto expected = weights_of(with_experts(), {});
  EXPECT_EQ(weights_of(with_experts(), kMesh), expected);
  EXPECT_EQ(weights_of(with_experts(), {.ici = {.fsdp = 2, .pp = 2}}), expected);
  std::int64_t elements = 0;
  for (const auto& [name, values] : expected) elements += static_cast<std::int64_t>(values.size());
  EXPECT_EQ(elements, spec::count_parameters(with_experts()).total);
}

TEST(ParameterStore, AdaptersBeginWithTheSameBitsOnEveryMesh) {
  const spec::LoraSpec lora{.rank = 3, .targets = spec::LoraTargets::attention};
  const auto expected = weights_of(with_experts(), {}, lora);
  EXPECT_EQ(weights_of(with_experts(), kMesh, lora), expected);
  EXPECT_EQ(weights_of(with_experts(), {.ici = {.fsdp = 2, .pp = 2}}, lora), expected);
  std::int64_t elements = 0;
  for (const auto& [name, values] : expected) elements += static_cast<std::int64_t>(values.size());
  EXPECT_EQ(elements, spec::count_parameters(with_experts()).total + spec::count_adapters(with_experts(), lora));
  const auto model = weights_of(with_experts(), {});
  for (const auto& [name, values] : model) EXPECT_EQ(expected.at(name), values) << name;
}

// More elements than are drawn at once.
TEST(ParameterStore, FrozenWeightsAreTheModelsRoundedOnce) {
  auto run = lora_tiny();
  run.model.d_model = 64;
  run.model.vocab_size = 16'400;
  cpu::CpuOps ops;
  Memory memory(make_cpu_backing(), make_cpu_backing(), {});
  const auto collectives = make_dry_collectives(Mesh(run.mesh, 0), {});
  PhaseClock clock;
  const Context in_bf16{ops, memory, *collectives, clock, DType::bf16};
  const Context in_f32{ops, memory, *collectives, clock};
  ParameterStore frozen(in_bf16, run, {.seed = 3}, false);
  run.lora = {};
  ParameterStore model(in_f32, run, {.seed = 3}, false);
  for (std::size_t u = 0; u < model.units().size(); ++u) {
    const TensorView weight = model.unit(u).weight;
    const Tensor rounded = in_bf16.workspace("rounded", weight.shape);
    ops.copy(rounded, weight);
    const TensorView kept = frozen.unit(u).weight;
    ASSERT_EQ(kept.bytes(), rounded.view().bytes());
    const auto bytes = static_cast<std::size_t>(kept.bytes());
    EXPECT_EQ(std::memcmp(kept.data, rounded.view().data, bytes), 0) << model.unit(u).layout.name;
  }
}

}  // namespace
}  // namespace perfbench::engine
