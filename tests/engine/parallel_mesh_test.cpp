#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/core/error.h"
#include "engine/parallel/mesh.h"
#include "engine/parallel/processes.h"

namespace perfbench::engine {
namespace {

constexpr std::array<AxisSet, 8> kSets{Axis::pp, Axis::dp,  Axis::fsdp,           Axis::ep,
                                       Axis::tp, kDataAxes, {Axis::dp, Axis::tp}, {Axis::pp, Axis::ep, Axis::tp}};

// A different size on each of the ten axes would need 10! ranks; these sizes contain every pair of neighbours.
spec::MeshSpec mixed() {
  spec::MeshSpec spec;
  spec.dcn = {.dp = 2, .fsdp = 3, .tp = 1, .ep = 1, .pp = 2};
  spec.ici = {.dp = 1, .fsdp = 2, .tp = 2, .ep = 2, .pp = 1};
  return spec;
}

TEST(Mesh, OneDeviceIsAloneOnEveryAxis) {
  const Mesh mesh(spec::MeshSpec{}, 0);
  for (const auto& axes : kSets) {
    EXPECT_EQ(mesh.size(axes), 1);
    EXPECT_EQ(mesh.index(axes), 0);
    EXPECT_EQ(mesh.group(axes), MeshGroup{});
  }
}

TEST(Mesh, NumbersRanksAsTheSpecWritesThem) {
  // The ten nested loops of mesh_spec.h, outermost first.
  const auto spec = mixed();
  std::int64_t rank = 0;
  for (std::int64_t dcn_pp = 0; dcn_pp < spec.dcn.pp; ++dcn_pp)
    for (std::int64_t dcn_dp = 0; dcn_dp < spec.dcn.dp; ++dcn_dp)
      for (std::int64_t dcn_fsdp = 0; dcn_fsdp < spec.dcn.fsdp; ++dcn_fsdp)
        for (std::int64_t ici_fsdp = 0; ici_fsdp < spec.ici.fsdp; ++ici_fsdp)
          for (std::int64_t ici_ep = 0; ici_ep < spec.ici.ep; ++ici_ep)
            for (std::int64_t ici_tp = 0; ici_tp < spec.ici.tp; ++ici_tp, ++rank) {
              const Mesh mesh(spec, rank);
              EXPECT_EQ(mesh.index(Axis::pp), dcn_pp);
              EXPECT_EQ(mesh.index(Axis::dp), dcn_dp);
              EXPECT_EQ(mesh.index(Axis::fsdp), ici_fsdp * 3 + dcn_fsdp);
              EXPECT_EQ(mesh.index(Axis::ep), ici_ep);
              EXPECT_EQ(mesh.index(Axis::tp), ici_tp);
              EXPECT_EQ(mesh.index(kDataAxes), (ici_fsdp * 2 + ici_ep) * 6 + dcn_dp * 3 + dcn_fsdp);
            }
  EXPECT_EQ(rank, spec.devices());
}

// Over all ranks that differ only along the axes, the index takes each number once.
TEST(Mesh, AnIndexBelongsToOneRankAlongTheAxes) {
  const auto spec = mixed();
  for (const auto& axes : kSets) {
    AxisSet others{};
    for (const auto axis : kAxes) {
      if (!axes.has(axis)) others = others.with(axis);
    }
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    for (std::int64_t rank = 0; rank < spec.devices(); ++rank) {
      const Mesh mesh(spec, rank);
      EXPECT_LT(mesh.index(axes), mesh.size(axes));
      places.insert({mesh.index(axes), mesh.index(others)});
    }
    EXPECT_EQ(places.size(), static_cast<std::size_t>(spec.devices())) << axes_name(axes);
  }
}

TEST(Mesh, AGroupHoldsTheRankAtItsIndexAndIsTheSameForItsMembers) {
  const auto spec = mixed();
  for (std::int64_t rank = 0; rank < spec.devices(); ++rank) {
    const Mesh mesh(spec, rank);
    for (const auto& axes : kSets) {
      const auto [ici, dcn] = mesh.group(axes);
      for (const auto& group : {MeshGroup{.ici = ici}, MeshGroup{.dcn = dcn}, MeshGroup{ici, dcn}}) {
        if (group == MeshGroup{}) continue;
        const auto ranks = mesh.ranks(group);
        ASSERT_EQ(static_cast<std::int64_t>(ranks.size()), mesh.size(group));
        EXPECT_GT(ranks.size(), 1U);
        EXPECT_EQ(ranks[static_cast<std::size_t>(mesh.index(group))], rank);
        EXPECT_EQ(std::set(ranks.begin(), ranks.end()).size(), ranks.size());
        for (const auto member : ranks) EXPECT_EQ(Mesh(spec, member).ranks(group), ranks);
      }
    }
  }
}

// Collectives of two parts rely on this (collectives.h): the group across nodes holds consecutive indices, and the
// group inside the node has this rank's run at its index.
TEST(Mesh, NodesCountFastestInAnIndexOverBothLevels) {
  const auto spec = mixed();
  for (std::int64_t rank = 0; rank < spec.devices(); ++rank) {
    const Mesh mesh(spec, rank);
    const auto group = mesh.group(Axis::fsdp);
    ASSERT_TRUE(group.on_both_levels());
    const std::int64_t in_node = mesh.index(MeshGroup{.ici = group.ici});
    const std::int64_t node = mesh.index(MeshGroup{.dcn = group.dcn});
    EXPECT_EQ(mesh.index(Axis::fsdp), in_node * 3 + node);
    EXPECT_EQ(mesh.index(group), in_node * 3 + node);
  }
}

// By number: 3 nodes of 4 ranks, dp and fsdp inside, fsdp across.
TEST(Mesh, GroupsByNumber) {
  using Ranks = std::vector<std::int64_t>;
  const Mesh mesh({.ici = {.dp = 2, .fsdp = 2}, .dcn = {.fsdp = 3}}, 5);
  EXPECT_EQ(mesh.ranks({.dcn = Axis::fsdp}), (Ranks{1, 5, 9}));
  EXPECT_EQ(mesh.ranks({.ici = Axis::fsdp}), (Ranks{4, 5}));
  EXPECT_EQ(mesh.ranks({.ici = {Axis::dp, Axis::fsdp}}), (Ranks{4, 5, 6, 7}));
  EXPECT_EQ(mesh.ranks({.ici = Axis::fsdp, .dcn = Axis::fsdp}), (Ranks{0, 4, 8, 1, 5, 9}));
  EXPECT_EQ(mesh.ranks({.ici = Axis::dp, .dcn = Axis::fsdp}), (Ranks{1, 5, 9, 3, 7, 11}));
}

TEST(Mesh, NamesAGroupByTheAxesThatHaveSeveralRanksThere) {
  const Mesh mesh(mixed(), 0);
  const auto group = mesh.group(kDataAxes);
  EXPECT_EQ(MeshGroup{.ici = group.ici}.name(), "fsdp+ep");
  EXPECT_EQ(MeshGroup{.dcn = group.dcn}.name(), "dcn_dp+dcn_fsdp");
  EXPECT_EQ(group.name(), "fsdp+ep+dcn_dp+dcn_fsdp");
  EXPECT_EQ(axes_name(kDataAxes), "dp+fsdp+ep");
  EXPECT_EQ(Mesh({.ici = {.fsdp = 2}}, 0).group(kDataAxes), Mesh({.ici = {.fsdp = 2}}, 0).group(Axis::fsdp));
}

TEST(Mesh, NeighboursAlongTpAreNextToEachOther) {
  const Mesh mesh({.ici = {.fsdp = 2, .tp = 2}}, 2);
  EXPECT_EQ(mesh.ranks(mesh.group(Axis::tp)), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(mesh.ranks(mesh.group(Axis::fsdp)), (std::vector<std::int64_t>{0, 2}));
}

TEST(Mesh, RefusesARankOutsideOfIt) {
  spec::MeshSpec spec;
  spec.ici.dp = 4;
  EXPECT_THROW(Mesh(spec, 4), LogicFault);
  EXPECT_THROW(Mesh(spec, -1), LogicFault);
}

// Ranks by the first rank of their node: two nodes of four.
TEST(Misplaced, AxesInsideANodeMustNotSpanNodes) {
  const Mesh two_by_four({.ici = {.fsdp = 4}, .dcn = {.fsdp = 2}}, 0);
  EXPECT_FALSE(misplaced(two_by_four, std::array<std::int64_t, 8>{0, 0, 0, 0, 4, 4, 4, 4}).has_value());
  EXPECT_FALSE(misplaced(two_by_four, std::array<std::int64_t, 8>{}).has_value()) << "all on one node";
  const auto in_turns = misplaced(two_by_four, std::array<std::int64_t, 8>{0, 1, 0, 1, 0, 1, 0, 1});
  ASSERT_TRUE(in_turns.has_value());
  EXPECT_NE(in_turns->find("ranks 0 to 3 share a node, but rank 1 runs on another than rank 0"), std::string::npos);
  const auto too_wide = misplaced(Mesh({.ici = {.dp = 8}}, 0), std::array<std::int64_t, 8>{0, 0, 0, 0, 4, 4, 4, 4});
  ASSERT_TRUE(too_wide.has_value());
  EXPECT_NE(too_wide->find("ranks 0 to 7 share a node, but rank 4"), std::string::npos);
}

// Along each axis the ring visits every rank that differs only along it, and leaves a node only after all of the node's
// ranks.
TEST(Mesh, ARingVisitsTheRanksOfANodeAfterEachOther) {
  auto spec = mixed();
  spec.ici.pp = 2;
  for (const auto axis : kAxes) {
    for (std::int64_t rank = 0; rank < spec.devices(); ++rank) {
      const Mesh mesh(spec, rank);
      const auto group = mesh.group(axis);
      const std::int64_t inside = mesh.size(MeshGroup{.ici = group.ici});
      EXPECT_EQ(
          mesh.neighbour(axis, Heading::onward),
          mesh.ranks(
              {axis, axis})[static_cast<std::size_t>(Mesh(spec, mesh.neighbour(axis, Heading::onward)).index(axis))]);
      std::int64_t at = rank;
      for (std::int64_t step = 0; step < mesh.size(axis); ++step) {
        const Mesh here(spec, at);
        EXPECT_EQ(here.place(axis), (mesh.place(axis) + step) % mesh.size(axis));
        const Mesh next(spec, here.neighbour(axis, Heading::onward));
        EXPECT_EQ(next.neighbour(axis, Heading::back), at);
        const bool crosses = here.place(axis) % inside + 1 == inside && mesh.size(axis) > inside;
        EXPECT_EQ(here.way(axis, Heading::onward), (crosses ? MeshGroup{.dcn = axis} : MeshGroup{.ici = axis}));
        EXPECT_EQ(next.way(axis, Heading::back), here.way(axis, Heading::onward));
        at = next.rank();
      }
      EXPECT_EQ(at, rank);
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
