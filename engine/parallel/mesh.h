// The place of a rank in the mesh, and the groups that it communicates with. A mesh is an ordered set of axes on two
// levels: inside a node (ici) and across nodes (dcn).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/spec/mesh_spec.h"

namespace perfbench::engine {

// From farthest to nearest, as mesh_spec.h orders them within a level.
enum class Axis { pp, dp, fsdp, ep, tp };
inline constexpr std::array kAxes{Axis::pp, Axis::dp, Axis::fsdp, Axis::ep, Axis::tp};
constexpr std::string_view axis_name(Axis axis) {
  constexpr std::array<std::string_view, kAxes.size()> kNames{"pp", "dp", "fsdp", "ep", "tp"};
  return kNames[static_cast<std::size_t>(axis)];
}

// A set of axes. Ranks that differ only along these axes form a group.
class AxisSet {
 public:
  constexpr AxisSet(Axis axis) : AxisSet({axis}) {}  // NOLINT(google-explicit-constructor): a set of one
  constexpr AxisSet(std::initializer_list<Axis> axes) {
    for (const auto axis : axes) bits_ |= bit(axis);
  }
  constexpr bool has(Axis axis) const { return (bits_ & bit(axis)) != 0; }
  constexpr AxisSet with(AxisSet axes) const { return AxisSet(bits_ | axes.bits_); }
  constexpr AxisSet without(AxisSet axes) const { return AxisSet(bits_ & ~axes.bits_); }
  auto operator<=>(const AxisSet&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to

 private:
  explicit constexpr AxisSet(unsigned bits) : bits_(bits) {}
  static constexpr unsigned bit(Axis axis) { return 1U << static_cast<unsigned>(axis); }
  unsigned bits_ = 0;
};

// Ranks with different sequences.
inline constexpr AxisSet kDataAxes{Axis::dp, Axis::fsdp, Axis::ep};
// Ranks that compute one layer together.
inline constexpr AxisSet kLayerAxes = kDataAxes.with(Axis::tp);
// Ranks that together hold one copy of the model.
inline constexpr AxisSet kModelAxes{Axis::pp, Axis::fsdp, Axis::ep, Axis::tp};

// The ranks along axes of one level or of both; each axis has several ranks there. Axes with only one rank are left
// out, so that a group has the same name whichever axes were asked for.
struct MeshGroup {
  AxisSet ici;
  AxisSet dcn;

  auto operator<=>(const MeshGroup&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
  bool on_both_levels() const { return ici != AxisSet{} && dcn != AxisSet{}; }
  // With the axis names of a matrix: "fsdp", "dcn_dp", "dp+fsdp", "fsdp+dcn_fsdp".
  std::string name() const;
};
// Such as "dp+fsdp+ep".
std::string axes_name(AxisSet axes);

// A direction around the ring of ranks along an axis: to the next rank, from the last one to the first; or the other
// way.
enum class Heading { onward, back };
constexpr Heading opposite(Heading heading) {
  return heading == Heading::onward ? Heading::back : Heading::onward;
}

constexpr std::string_view heading_name(Heading heading) {
  return heading == Heading::onward ? "onward" : "back";
}

class Mesh {
 public:
  // Throws LogicFault unless 0 <= rank < spec.devices().
  Mesh(const spec::MeshSpec& spec, std::int64_t rank);

  std::int64_t rank() const { return rank_; }
  std::int64_t devices() const { return devices_; }
  // The number of ranks on a node of the mesh: the product of all axes inside one.
  std::int64_t ranks_on_node() const { return ici_.strides[0] * ici_.sizes[0]; }

  // The number of ranks along the axes, on both levels.
  std::int64_t size(AxisSet axes) const;
  // This rank's index among them: index(ici) * size(dcn) + index(dcn). The node counts fastest, so that the ranks at
  // the same place in each node together hold one contiguous run of elements (collectives.h).
  std::int64_t index(AxisSet axes) const;

  // All ranks along the axes.
  MeshGroup group(AxisSet axes) const;
  std::int64_t size(const MeshGroup& group) const;
  // The index in a group, as for axes.
  std::int64_t index(const MeshGroup& group) const;
  // Global ranks in the order of their index, including this one.
  std::vector<std::int64_t> ranks(const MeshGroup& group) const;

  // The place along one axis as a ring, in which ranks of one node follow each other: index(dcn) * size(ici) +
  // index(ici).
  std::int64_t place(Axis axis) const;
  // The global rank that receives a message in this direction, and the group that the message goes along, which is of
  // one level.
  std::int64_t neighbour(Axis axis, Heading heading) const;
  MeshGroup way(Axis axis, Heading heading) const;

 private:
  // For one level, in the order of kAxes: the ranks along each axis, and the distance between neighbours along it.
  struct Extents {
    std::array<std::int64_t, kAxes.size()> sizes;
    std::array<std::int64_t, kAxes.size()> strides;
  };
  static Extents extents(const spec::MeshAxes& axes, std::int64_t stride);
  // Ranks along the axes on one level.
  static std::int64_t size(AxisSet axes, const Extents& level);
  std::int64_t index(AxisSet axes, const Extents& level) const;
  // The distance of this rank's neighbour at that index from the one at index 0.
  static std::int64_t distance(AxisSet axes, const Extents& level, std::int64_t index);

  std::int64_t rank_;
  std::int64_t devices_;
  Extents ici_;
  Extents dcn_;
};

}  // namespace perfbench::engine
