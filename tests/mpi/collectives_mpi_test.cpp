// Collectives compared with results that each rank computes by itself from all ranks' inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "engine/core/bf16.h"
#include "engine/core/error.h"
#include "engine/core/rng.h"
#include "tests/mpi/mpi_world.h"

namespace perfbench::engine {
namespace {

spec::MeshSpec all_fsdp() {
  spec::MeshSpec mesh;
  mesh.ici.fsdp = world().size();
  return mesh;
}

std::unique_ptr<Collectives> collectives_over(const spec::MeshSpec& mesh) {
  constexpr std::array<Declared, 4> kDeclared{{{Axis::fsdp, Lane::background},
                                               {Axis::fsdp, Lane::in_line},
                                               {Axis::dp, Lane::background},
                                               {Axis::dp, Lane::in_line}}};
  return world().make_collectives(Mesh(mesh, world().rank()), kDeclared);
}

// Whole numbers: their sums are exact in any order, so the expected value needs no tolerance.
float value_of(std::int64_t rank, std::int64_t i) {
  return static_cast<float>(
      static_cast<std::int64_t>(splitmix64(static_cast<std::uint64_t>(rank * 1'000'003 + i)) % 2001) - 1000);
}

TensorView view(std::vector<float>& values) {
  return {values.data(), DType::f32, Shape{static_cast<std::int64_t>(values.size())}};
}

const std::vector<std::int64_t> kSizes{16, 48, 4096, 300'016};

TEST(MpiCollectives, AllGatherPutsShardsInRankOrder) {
  const auto n = world().size();
  const auto collectives = collectives_over(all_fsdp());
  for (const auto size : kSizes) {
    std::vector<float> shard(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) shard[static_cast<std::size_t>(i)] = value_of(world().rank(), i);
    std::vector<float> full(static_cast<std::size_t>(size * n));
    collectives->all_gather("U/fsdp -> U", view(full), view(shard), Lane::background).wait();
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(full[static_cast<std::size_t>(r * size + i)], value_of(r, i)) << "rank " << r << " of " << n;
      }
    }
  }
}

TEST(MpiCollectives, ReduceScatterSumsOverRanks) {
  const auto n = world().size();
  const auto collectives = collectives_over(all_fsdp());
  for (const auto size : kSizes) {
    std::vector<float> full(static_cast<std::size_t>(size * n));
    for (std::int64_t i = 0; i < size * n; ++i) full[static_cast<std::size_t>(i)] = value_of(world().rank(), i);
    std::vector<float> shard(static_cast<std::size_t>(size));
    collectives->reduce_scatter("U -> U/fsdp", view(shard), view(full), Lane::background).wait();
    for (std::int64_t i = 0; i < size; ++i) {
      float expected = 0;
      for (std::int64_t r = 0; r < n; ++r) expected += value_of(r, world().rank() * size + i);
      ASSERT_EQ(shard[static_cast<std::size_t>(i)], expected);
    }
  }
}

TEST(MpiCollectives, AllToAllGivesEachRankItsPartFromAll) {
  const auto n = world().size();
  const auto collectives = collectives_over(all_fsdp());
  for (const auto size : kSizes) {
    std::vector<float> in(static_cast<std::size_t>(size * n));
    for (std::int64_t i = 0; i < size * n; ++i) in[static_cast<std::size_t>(i)] = value_of(world().rank(), i);
    for (const auto lane : {Lane::background, Lane::in_line}) {
      std::vector<float> out(in.size());
      collectives->all_to_all(Axis::fsdp, view(out), view(in), lane).wait();
      for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t i = 0; i < size; ++i) {
          ASSERT_EQ(out[static_cast<std::size_t>(r * size + i)], value_of(r, world().rank() * size + i));
        }
      }
    }
  }
}

TEST(MpiCollectives, AllReduceGivesEveryRankTheSameBits) {
  const auto n = world().size();
  spec::MeshSpec mesh;
  mesh.ici.dp = n;
  const auto collectives = collectives_over(mesh);
  // The sum of these values depends on its order, so equal bits are not a coincidence.
  std::vector<float> values(100'003);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = value_of(world().rank(), static_cast<std::int64_t>(i)) * 1.000123F / 3.0F;
  }
  const auto original = values;
  collectives->all_reduce(Axis::dp, view(values), Lane::background).wait();
  auto again = original;
  collectives->all_reduce(Axis::dp, view(again), Lane::background).wait();
  EXPECT_EQ(values, again);
  spec::MeshSpec gather_mesh = all_fsdp();
  const auto gatherer = collectives_over(gather_mesh);
  std::vector<float> everybody(values.size() * static_cast<std::size_t>(n));
  gatherer->all_gather("U/fsdp -> U", view(everybody), view(values), Lane::background).wait();
  for (std::size_t i = 0; i < everybody.size(); ++i) ASSERT_EQ(everybody[i], values[i % values.size()]);
}

// Two levels, as for ranks of two nodes: a part inside the node and one across.
class MpiCollectivesOverTwoLevels : public testing::Test {
 protected:
  void SetUp() override {
    if (world().size() < 4) GTEST_SKIP() << "needs four ranks";
    collectives_ = collectives_over(spec_);
  }
  // The rank at each index along fsdp.
  std::vector<std::int64_t> ranks_by_index() const {
    std::vector<std::int64_t> ranks(static_cast<std::size_t>(world().size()));
    for (std::int64_t rank = 0; rank < world().size(); ++rank) {
      ranks[static_cast<std::size_t>(Mesh(spec_, rank).index(Axis::fsdp))] = rank;
    }
    return ranks;
  }

  const spec::MeshSpec spec_{.ici = {.fsdp = world().size() / 2}, .dcn = {.fsdp = 2}};
  std::unique_ptr<Collectives> collectives_;
};

TEST_F(MpiCollectivesOverTwoLevels, GatherByIndex) {
  for (const auto size : kSizes) {
    std::vector<float> shard(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) shard[static_cast<std::size_t>(i)] = value_of(world().rank(), i);
    std::vector<float> full(static_cast<std::size_t>(size * world().size()));
    collectives_->all_gather("U/fsdp -> U", view(full), view(shard), Lane::background).wait();
    std::vector<float> expected;
    for (const auto rank : ranks_by_index()) {
      for (std::int64_t i = 0; i < size; ++i) expected.push_back(value_of(rank, i));
    }
    ASSERT_EQ(full, expected);
  }
}

TEST_F(MpiCollectivesOverTwoLevels, ReduceByIndex) {
  const std::int64_t index = Mesh(spec_, world().rank()).index(Axis::fsdp);
  for (const auto size : kSizes) {
    std::vector<float> full(static_cast<std::size_t>(size * world().size()));
    for (std::size_t i = 0; i < full.size(); ++i) full[i] = value_of(world().rank(), static_cast<std::int64_t>(i));
    std::vector<float> shard(static_cast<std::size_t>(size));
    collectives_->reduce_scatter("U -> U/fsdp", view(shard), view(full), Lane::background).wait();
    std::vector<float> expected(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t r = 0; r < world().size(); ++r) {
        expected[static_cast<std::size_t>(i)] += value_of(r, index * size + i);
      }
    }
    ASSERT_EQ(shard, expected);
  }
}

// With sizes that divide over the ranks of a node, and others.
TEST_F(MpiCollectivesOverTwoLevels, SumForAll) {
  for (const std::int64_t size : {1, 3, 16, 4099, 300'016}) {
    std::vector<float> values(static_cast<std::size_t>(size));
    std::vector<double> doubles(static_cast<std::size_t>(size));
    std::vector<float> expected(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      values[at] = value_of(world().rank(), i);
      doubles[at] = values[at];
      for (std::int64_t r = 0; r < world().size(); ++r) expected[at] += value_of(r, i);
    }
    collectives_->all_reduce(Axis::fsdp, view(values), Lane::background).wait();
    collectives_->all_reduce(Axis::fsdp, {doubles.data(), DType::f64, Shape{size}}, Lane::background).wait();
    ASSERT_EQ(values, expected);
    ASSERT_EQ(std::vector<float>(doubles.begin(), doubles.end()), expected);
  }
}

// Rounded by hand to nearest, ties to even: to 8 bits if the whole number has more.
float rounded_to_8_bits(float whole) {
  int exponent = 0;
  std::frexp(whole, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 8, 0));
  return static_cast<float>(std::nearbyint(whole / unit) * unit);
}

// Each part of a sum is rounded once: along one axis of one level that is the whole sum.
TEST(MpiCollectives, SumsOfBf16AreMadeInF32) {
  const auto n = world().size();
  const auto collectives = collectives_over(all_fsdp());
  const auto term = [](std::int64_t rank, std::int64_t i) { return std::fmod(value_of(rank, i), 256.0F); };
  for (const std::int64_t size : {16, 4096, 300'016}) {
    std::vector<Bf16> full(static_cast<std::size_t>(size * n));
    for (std::size_t i = 0; i < full.size(); ++i) {
      full[i] = to_bf16(term(world().rank(), static_cast<std::int64_t>(i)));
    }
    std::vector<Bf16> all = full;
    std::vector<Bf16> shard(static_cast<std::size_t>(size));
    const TensorView of_all{all.data(), DType::bf16, Shape{size * n}};
    collectives->all_reduce(Axis::fsdp, of_all, Lane::background).wait();
    const TensorView of_shard{shard.data(), DType::bf16, Shape{size}};
    const TensorView of_full{full.data(), DType::bf16, Shape{size * n}};
    collectives->reduce_scatter("U -> U/fsdp", of_shard, of_full, Lane::background).wait();
    for (std::int64_t i = 0; i < size * n; ++i) {
      float sum = 0;
      for (std::int64_t r = 0; r < n; ++r) sum += term(r, i);
      ASSERT_EQ(to_f32(all[static_cast<std::size_t>(i)]), rounded_to_8_bits(sum)) << i;
      const std::int64_t mine = i - world().rank() * size;
      if (mine < 0 || mine >= size) continue;
      ASSERT_EQ(to_f32(shard[static_cast<std::size_t>(mine)]), rounded_to_8_bits(sum)) << i;
    }
  }
  std::vector<float> floats(static_cast<std::size_t>(n));
  std::vector<Bf16> one(1);
  EXPECT_THROW(
      collectives->reduce_scatter("U -> U/fsdp", {one.data(), DType::bf16, Shape{1}}, view(floats), Lane::background),
      LogicFault);
}

// Includes negative numbers, on either lane.
TEST(MpiCollectives, AMaximumIsThatOfAllRanks) {
  const auto collectives = collectives_over(all_fsdp());
  for (const std::int64_t size : {1, 3, 4099}) {
    for (const auto lane : {Lane::background, Lane::in_line}) {
      std::vector<float> values(static_cast<std::size_t>(size));
      std::vector<float> expected(static_cast<std::size_t>(size), -2000.0F);
      for (std::int64_t i = 0; i < size; ++i) {
        const auto at = static_cast<std::size_t>(i);
        values[at] = value_of(world().rank(), i);
        for (std::int64_t r = 0; r < world().size(); ++r) expected[at] = std::max(expected[at], value_of(r, i));
      }
      collectives->all_reduce_max(Axis::fsdp, view(values), lane).wait();
      ASSERT_EQ(values, expected);
    }
  }
}

TEST(MpiCollectives, SubmittedOnesRunInOrderBesideEachOther) {
  const auto n = world().size();
  const auto collectives = collectives_over(all_fsdp());
  constexpr std::size_t kAtOnce = 8;
  constexpr std::int64_t kSize = 4096;
  std::vector<std::vector<float>> shards(kAtOnce);
  std::vector<std::vector<float>> fulls(kAtOnce);
  std::vector<Pending> pending;
  for (std::size_t c = 0; c < kAtOnce; ++c) {
    shards[c].assign(kSize, static_cast<float>(world().rank() * 100) + static_cast<float>(c));
    fulls[c].resize(static_cast<std::size_t>(kSize * n));
    pending.push_back(collectives->all_gather("U/fsdp -> U", view(fulls[c]), view(shards[c]), Lane::background));
  }
  for (auto& p : pending) p.wait();
  for (std::size_t c = 0; c < kAtOnce; ++c) {
    for (std::int64_t r = 0; r < n; ++r) {
      ASSERT_EQ(fulls[c][static_cast<std::size_t>(r * kSize)], static_cast<float>(r * 100) + static_cast<float>(c));
    }
  }
}

// If the lanes shared one order, a collective whose ranks reach it in different orders would wait for ever.
TEST(MpiCollectives, InLineWaitForNothingInTheBackground) {
  const auto n = world().size();
  const auto collectives = collectives_over(all_fsdp());
  constexpr std::int64_t kSize = 100'000;
  std::vector<float> shard(kSize, static_cast<float>(world().rank() + 1));
  std::vector<float> full(static_cast<std::size_t>(kSize * n));
  const auto ranks = static_cast<double>(n);
  for (int round = 0; round < 20; ++round) {
    double sum = static_cast<double>(world().rank() + 1);
    const TensorView sum_view{&sum, DType::f64, Shape{1}};
    Pending gathered;
    const bool gather_first = world().rank() % 2 == 0;
    if (gather_first) gathered = collectives->all_gather("U/fsdp -> U", view(full), view(shard), Lane::background);
    collectives->all_reduce(Axis::fsdp, sum_view, Lane::in_line).wait();
    if (!gather_first) gathered = collectives->all_gather("U/fsdp -> U", view(full), view(shard), Lane::background);
    gathered.wait();
    ASSERT_EQ(sum, ranks * (ranks + 1) / 2);
    for (std::int64_t r = 0; r < n; ++r)
      ASSERT_EQ(full[static_cast<std::size_t>(r * kSize)], static_cast<float>(r + 1));
  }
}

TEST(MpiProcesses, GatherTheDataOfEachRank) {
  const auto rank = static_cast<std::size_t>(world().rank());
  const auto size = static_cast<std::size_t>(world().size());
  const std::array own{std::byte(rank), std::byte(100 + rank)};
  std::vector<std::byte> all(own.size() * size);
  world().all_gather(all, own);
  for (std::size_t r = 0; r < size; ++r) {
    EXPECT_EQ(all[2 * r], std::byte(r));
    EXPECT_EQ(all[2 * r + 1], std::byte(100 + r));
  }
  // All ranks of this test run on one node.
  EXPECT_EQ(world().rank_on_node(), world().rank());
  EXPECT_EQ(world().first_on_node(), 0);
  std::vector<std::byte> short_one(1);
  EXPECT_THROW(world().all_gather(short_one, own), LogicFault);
}

}  // namespace
}  // namespace perfbench::engine
