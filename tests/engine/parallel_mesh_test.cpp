#include <gtest/gtest.h>

#include <set>

#include "engine/core/error.h"
#include "engine/parallel/mesh.h"

namespace perfbench::engine {
namespace {

constexpr std::array kEveryAxis{MeshAxis::dp, MeshAxis::fsdp, MeshAxis::tp, MeshAxis::ep, MeshAxis::pp, MeshAxis::data};

// A different size on each of the ten axes would need 10! ranks; these have every neighbour pair in it.
spec::MeshSpec mixed() {
  spec::MeshSpec spec;
  spec.dcn = {.dp = 2, .fsdp = 3, .tp = 1, .ep = 1, .pp = 2};
  spec.ici = {.dp = 1, .fsdp = 2, .tp = 2, .ep = 2, .pp = 1};
  return spec;
}

TEST(Mesh, OneDeviceIsAloneOnEveryAxis) {
  const Mesh mesh(spec::MeshSpec{}, 0);
  for (const auto axis : kEveryAxis) {
    EXPECT_EQ(mesh.size(axis), 1);
    EXPECT_EQ(mesh.index(axis), 0);
    EXPECT_EQ(mesh.group(axis), std::vector<std::int64_t>{0});
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
              EXPECT_EQ(mesh.index(MeshAxis::pp), dcn_pp);
              EXPECT_EQ(mesh.index(MeshAxis::dp), dcn_dp);
              EXPECT_EQ(mesh.index(MeshAxis::fsdp), dcn_fsdp * 2 + ici_fsdp);
              EXPECT_EQ(mesh.index(MeshAxis::ep), ici_ep);
              EXPECT_EQ(mesh.index(MeshAxis::tp), ici_tp);
              EXPECT_EQ(mesh.index(MeshAxis::data), (dcn_dp * 6 + dcn_fsdp * 2 + ici_fsdp) * 2 + ici_ep);
            }
  EXPECT_EQ(rank, spec.devices());
}

TEST(Mesh, AGroupHoldsTheRankAtItsIndexAndIsTheSameForItsMembers) {
  const auto spec = mixed();
  for (std::int64_t rank = 0; rank < spec.devices(); ++rank) {
    const Mesh mesh(spec, rank);
    for (const auto axis : kEveryAxis) {
      const auto group = mesh.group(axis);
      ASSERT_EQ(static_cast<std::int64_t>(group.size()), mesh.size(axis));
      EXPECT_EQ(group[static_cast<std::size_t>(mesh.index(axis))], rank);
      EXPECT_EQ(std::set(group.begin(), group.end()).size(), group.size());
      for (const auto member : group) EXPECT_EQ(Mesh(spec, member).group(axis), group);
    }
  }
}

TEST(Mesh, TheGroupsOfAnAxisCoverAllRanksOnce) {
  const auto spec = mixed();
  for (const auto axis : kEveryAxis) {
    std::set<std::vector<std::int64_t>> groups;
    for (std::int64_t rank = 0; rank < spec.devices(); ++rank) groups.insert(Mesh(spec, rank).group(axis));
    std::set<std::int64_t> covered;
    std::size_t members = 0;
    for (const auto& group : groups) {
      covered.insert(group.begin(), group.end());
      members += group.size();
    }
    EXPECT_EQ(members, static_cast<std::size_t>(spec.devices())) << axis_name(axis);
    EXPECT_EQ(covered.size(), members) << axis_name(axis);
  }
}

TEST(Mesh, NeighboursAlongTpAreNextToEachOther) {
  spec::MeshSpec spec;
  spec.ici = {.fsdp = 2, .tp = 2};
  EXPECT_EQ(Mesh(spec, 2).group(MeshAxis::tp), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(Mesh(spec, 2).group(MeshAxis::fsdp), (std::vector<std::int64_t>{0, 2}));
}

TEST(Mesh, RefusesARankOutsideOfIt) {
  spec::MeshSpec spec;
  spec.ici.dp = 4;
  EXPECT_THROW(Mesh(spec, 4), LogicFault);
  EXPECT_THROW(Mesh(spec, -1), LogicFault);
}

}  // namespace
}  // namespace perfbench::engine
