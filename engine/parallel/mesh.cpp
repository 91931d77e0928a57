#include "engine/parallel/mesh.h"

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

// The axes of the set, joined, each with `prefix`.
std::string joined(AxisSet axes, std::string_view prefix) {
  std::string out;
  for (const auto axis : kAxes) {
    if (!axes.has(axis)) continue;
    if (!out.empty()) out += "+";
    out += std::string(prefix) + std::string(axis_name(axis));
  }
  return out;
}

}  // namespace

std::string axes_name(AxisSet axes) {
  return joined(axes, "");
}

std::string MeshGroup::name() const {
  return joined(axes, level == Level::dcn ? "dcn_" : "");
}

Mesh::Extents Mesh::extents(const spec::MeshAxes& axes, std::int64_t stride) {
  Extents out{.sizes = {axes.pp, axes.dp, axes.fsdp, axes.ep, axes.tp}, .strides = {}};
  for (std::size_t i = kAxes.size(); i-- > 0;) {
    out.strides[i] = stride;
    stride *= out.sizes[i];
  }
  return out;
}

Mesh::Mesh(const spec::MeshSpec& spec, std::int64_t rank)
    : rank_(rank), devices_(spec.devices()), ici_(extents(spec.ici, 1)), dcn_(extents(spec.dcn, spec.ici.size())) {
  if (rank < 0 || rank >= devices_) {
    throw LogicFault("rank " + std::to_string(rank) + " is outside a mesh of " + std::to_string(devices_) + " devices");
  }
}

std::int64_t Mesh::size(AxisSet axes, Level level) const {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < kAxes.size(); ++i) {
    if (axes.has(kAxes[i])) size *= on(level).sizes[i];
  }
  return size;
}

std::int64_t Mesh::index(AxisSet axes, Level level) const {
  const auto& [sizes, strides] = on(level);
  std::int64_t index = 0;
  for (std::size_t i = 0; i < kAxes.size(); ++i) {
    if (axes.has(kAxes[i])) index = index * sizes[i] + rank_ / strides[i] % sizes[i];
  }
  return index;
}

std::int64_t Mesh::distance(AxisSet axes, Level level, std::int64_t index) const {
  const auto& [sizes, strides] = on(level);
  std::int64_t distance = 0;
  for (std::size_t i = kAxes.size(); i-- > 0;) {
    if (!axes.has(kAxes[i])) continue;
    distance += index % sizes[i] * strides[i];
    index /= sizes[i];
  }
  return distance;
}

std::int64_t Mesh::size(AxisSet axes) const {
  return size(axes, Level::ici) * size(axes, Level::dcn);
}

std::int64_t Mesh::index(AxisSet axes) const {
  return index(axes, Level::ici) * size(axes, Level::dcn) + index(axes, Level::dcn);
}

std::vector<MeshGroup> Mesh::groups(AxisSet axes) const {
  std::vector<MeshGroup> out;
  for (const auto level : {Level::ici, Level::dcn}) {
    MeshGroup group{.axes = {}, .level = level};
    for (std::size_t i = 0; i < kAxes.size(); ++i) {
      if (axes.has(kAxes[i]) && on(level).sizes[i] > 1) group.axes = group.axes.with(kAxes[i]);
    }
    if (group.axes != AxisSet{}) out.push_back(group);
  }
  return out;
}

std::int64_t Mesh::size(const MeshGroup& group) const {
  return size(group.axes, group.level);
}

std::int64_t Mesh::index(const MeshGroup& group) const {
  return index(group.axes, group.level);
}

std::vector<std::int64_t> Mesh::ranks(const MeshGroup& group) const {
  const std::int64_t first = rank_ - distance(group.axes, group.level, index(group));
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < size(group); ++i) out.push_back(first + distance(group.axes, group.level, i));
  return out;
}

}  // namespace perfbench::engine
