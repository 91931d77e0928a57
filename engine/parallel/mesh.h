// A rank's place in the mesh and the groups it communicates with.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/spec/mesh_spec.h"

namespace perfbench::engine {

// data: every rank with different sequences (dp x fsdp x ep), for scalars of the whole batch.
enum class MeshAxis { dp, fsdp, tp, ep, pp, data };
inline constexpr std::array kMeshAxes{MeshAxis::dp, MeshAxis::fsdp, MeshAxis::tp,
                                      MeshAxis::ep, MeshAxis::pp,   MeshAxis::data};
std::string_view axis_name(MeshAxis axis);

class Mesh {
 public:
  // Throws LogicFault unless 0 <= rank < spec.devices().
  Mesh(const spec::MeshSpec& spec, std::int64_t rank);

  std::int64_t rank() const { return rank_; }
  std::int64_t devices() const { return spec_.devices(); }
  // Ranks along an axis, both levels: dcn outside, ici inside.
  std::int64_t size(MeshAxis axis) const;
  // This rank's index along the axis.
  std::int64_t index(MeshAxis axis) const;
  // Global ranks of this rank's group along the axis, in the order of their index.
  std::vector<std::int64_t> group(MeshAxis axis) const;

 private:
  spec::MeshSpec spec_;
  std::int64_t rank_;
};

}  // namespace perfbench::engine
