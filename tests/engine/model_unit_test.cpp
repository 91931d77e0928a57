#include <gtest/gtest.h>

#include <algorithm>

#include "engine/core/error.h"
#include "engine/sharding/unit.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/unit_layouts.h"

namespace perfbench::engine {
namespace {

Mesh fsdp(std::int64_t shards) {
  return Mesh({.ici = {.fsdp = shards}}, 0);
}

TEST(UnitLayout, HoldsEveryParameterOfTheModelOnce) {
  for (const auto& run : {gpt_tiny(), llama_tiny()}) {
    std::int64_t elements = 0;
    for (const auto& unit : unit_layouts(run.model, fsdp(4))) {
      for (const auto& p : unit.parameters) elements += p.spec.elements();
    }
    EXPECT_EQ(elements, spec::count_parameters(run.model).total);
  }
}

TEST(UnitLayout, KnowsWhereAParameterLiesByItsNameInTheUnitAndRefusesOthers) {
  const auto units = unit_layouts(gpt_tiny().model, fsdp(2));
  const auto& layer = units.at(2);
  const auto up = layer.place("up.weight");
  const auto& found = *std::find_if(layer.parameters.begin(), layer.parameters.end(),
                                    [](const UnitParameter& p) { return p.spec.name == "layers.1.up.weight"; });
  EXPECT_EQ(up.offset, found.offset);
  EXPECT_EQ(up.shape, (Shape{found.spec.shape[0], found.spec.shape[1]}));
  EXPECT_EQ(units.at(0).place("token_embedding").offset, 0);
  EXPECT_FALSE(unit_layouts(llama_tiny().model, fsdp(2)).at(1).place_if_any("up.bias").has_value());
  EXPECT_NO_THROW(layer.require_found(layer.parameters.size()));
  EXPECT_THROW(layer.require_found(layer.parameters.size() - 1), LogicFault);
  for (const char* wrong : {"layers.1.up.weight", "upweight", "up.weigh", ""}) {
    EXPECT_THROW(layer.place(wrong), LogicFault) << wrong;
  }
}

TEST(UnitLayout, DividesOverTheShardsAndAlignsEveryParameter) {
  for (const std::int64_t shards : {1, 2, 3, 8, 512}) {
    for (const auto& unit : unit_layouts(gpt_tiny().model, fsdp(shards))) {
      EXPECT_EQ(unit.shard_elements * shards, unit.elements);
      EXPECT_EQ(unit.shard_elements % 16, 0);
      for (const auto& p : unit.parameters) EXPECT_EQ(p.offset % 16, 0);
    }
  }
}

TEST(UnitLayout, AdaptersAreUnitsOfTheirOwnAndTrainAlone) {
  const auto run = lora_tiny();
  const auto units = unit_layouts(run.model, fsdp(2), run.lora);
  ASSERT_EQ(units.size(), static_cast<std::size_t>(2 * run.model.layers + 2));
  for (std::size_t u = 0; u < units.size(); ++u) {
    EXPECT_EQ(units[u].trains, u > static_cast<std::size_t>(run.model.layers + 1)) << units[u].name;
  }
  EXPECT_EQ(units.back().name, "layers.2.lora");
  EXPECT_EQ(units.back().place("down.b").shape, (Shape{run.model.d_model, run.lora.rank}));
  for (const auto& unit : unit_layouts(run.model, fsdp(2))) EXPECT_TRUE(unit.trains);
}

TEST(UnitLayout, ParametersAndPaddingTileTheUnit) {
  for (const auto& unit : unit_layouts(gpt_tiny().model, fsdp(8))) {
    std::vector<int> covered(static_cast<std::size_t>(unit.elements), 0);
    const auto cover = [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t i = first; i < first + count; ++i) ++covered[static_cast<std::size_t>(i)];
    };
    for (const auto& p : unit.parameters) cover(p.offset, p.spec.elements());
    for (const auto& gap : unit.padding()) cover(gap.first, gap.count);
    for (const int n : covered) ASSERT_EQ(n, 1) << unit.name;
  }
}

TEST(UnitLayout, DecayRangesOfAllShardsTileTheUnitAndSpareVectors) {
  constexpr std::int64_t kShards = 8;
  for (const auto& unit : unit_layouts(gpt_tiny().model, fsdp(kShards))) {
    std::vector<char> decays(static_cast<std::size_t>(unit.elements), 2);
    for (std::int64_t shard = 0; shard < kShards; ++shard) {
      std::int64_t next = shard * unit.shard_elements;
      for (const auto& range : unit.decay_ranges(next, unit.shard_elements)) {
        ASSERT_EQ(range.first, next) << unit.name;
        for (std::int64_t i = 0; i < range.count; ++i)
          decays[static_cast<std::size_t>(next + i)] = range.decays ? 1 : 0;
        next += range.count;
      }
      ASSERT_EQ(next, (shard + 1) * unit.shard_elements);
    }
    for (const auto& p : unit.parameters) {
      const char wanted = p.spec.shape.size() >= 2 ? 1 : 0;
      EXPECT_EQ(decays[static_cast<std::size_t>(p.offset)], wanted) << p.spec.name;
      EXPECT_EQ(decays[static_cast<std::size_t>(p.offset + p.spec.elements() - 1)], wanted) << p.spec.name;
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
