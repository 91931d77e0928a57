// Collectives against what each rank can compute of all ranks' inputs by itself.
#include <gtest/gtest.h>

#include <array>
#include <vector>

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
  const auto collectives = world().make_collectives(Mesh(all_fsdp(), world().rank()));
  for (const auto size : kSizes) {
    std::vector<float> shard(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) shard[static_cast<std::size_t>(i)] = value_of(world().rank(), i);
    std::vector<float> full(static_cast<std::size_t>(size * n));
    collectives->all_gather("U/fsdp -> U", view(full), view(shard)).wait();
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(full[static_cast<std::size_t>(r * size + i)], value_of(r, i)) << "rank " << r << " of " << n;
      }
    }
  }
}

TEST(MpiCollectives, ReduceScatterSumsOverRanks) {
  const auto n = world().size();
  const auto collectives = world().make_collectives(Mesh(all_fsdp(), world().rank()));
  for (const auto size : kSizes) {
    std::vector<float> full(static_cast<std::size_t>(size * n));
    for (std::int64_t i = 0; i < size * n; ++i) full[static_cast<std::size_t>(i)] = value_of(world().rank(), i);
    std::vector<float> shard(static_cast<std::size_t>(size));
    collectives->reduce_scatter("U -> U/fsdp", view(shard), view(full)).wait();
    for (std::int64_t i = 0; i < size; ++i) {
      float expected = 0;
      for (std::int64_t r = 0; r < n; ++r) expected += value_of(r, world().rank() * size + i);
      ASSERT_EQ(shard[static_cast<std::size_t>(i)], expected);
    }
  }
}

TEST(MpiCollectives, AllReduceGivesEveryRankTheSameBits) {
  const auto n = world().size();
  spec::MeshSpec mesh;
  mesh.ici.dp = n;
  const auto collectives = world().make_collectives(Mesh(mesh, world().rank()));
  // Values whose sum depends on its order: equal bits are not a matter of luck.
  std::vector<float> values(100'003);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = value_of(world().rank(), static_cast<std::int64_t>(i)) * 1.000123F / 3.0F;
  }
  const auto original = values;
  collectives->all_reduce(MeshAxis::dp, view(values)).wait();
  auto again = original;
  collectives->all_reduce(MeshAxis::dp, view(again)).wait();
  EXPECT_EQ(values, again);
  spec::MeshSpec gather_mesh = all_fsdp();
  const auto gatherer = world().make_collectives(Mesh(gather_mesh, world().rank()));
  std::vector<float> everybody(values.size() * static_cast<std::size_t>(n));
  gatherer->all_gather("U/fsdp -> U", view(everybody), view(values)).wait();
  for (std::size_t i = 0; i < everybody.size(); ++i) ASSERT_EQ(everybody[i], values[i % values.size()]);
}

TEST(MpiCollectives, SubmittedOnesRunInOrderBesideEachOther) {
  const auto n = world().size();
  const auto collectives = world().make_collectives(Mesh(all_fsdp(), world().rank()));
  constexpr std::size_t kAtOnce = 8;
  constexpr std::int64_t kSize = 4096;
  std::vector<std::vector<float>> shards(kAtOnce);
  std::vector<std::vector<float>> fulls(kAtOnce);
  std::vector<Pending> pending;
  for (std::size_t c = 0; c < kAtOnce; ++c) {
    shards[c].assign(kSize, static_cast<float>(world().rank() * 100) + static_cast<float>(c));
    fulls[c].resize(static_cast<std::size_t>(kSize * n));
    pending.push_back(collectives->all_gather("U/fsdp -> U", view(fulls[c]), view(shards[c])));
  }
  for (auto& p : pending) p.wait();
  for (std::size_t c = 0; c < kAtOnce; ++c) {
    for (std::int64_t r = 0; r < n; ++r) {
      ASSERT_EQ(fulls[c][static_cast<std::size_t>(r * kSize)], static_cast<float>(r * 100) + static_cast<float>(c));
    }
  }
}

TEST(MpiProcesses, GatherWhatEachRankSaysOfItself) {
  const auto rank = static_cast<std::size_t>(world().rank());
  const auto size = static_cast<std::size_t>(world().size());
  const std::array own{std::byte(rank), std::byte(100 + rank)};
  std::vector<std::byte> all(own.size() * size);
  world().all_gather(all, own);
  for (std::size_t r = 0; r < size; ++r) {
    EXPECT_EQ(all[2 * r], std::byte(r));
    EXPECT_EQ(all[2 * r + 1], std::byte(100 + r));
  }
  EXPECT_EQ(world().rank_on_node(), world().rank());  // all ranks of this test run on one node
  std::vector<std::byte> short_one(1);
  EXPECT_THROW(world().all_gather(short_one, own), LogicFault);
}

}  // namespace
}  // namespace perfbench::engine
