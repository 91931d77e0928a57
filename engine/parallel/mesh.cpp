#include "engine/parallel/mesh.h"

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

// The axes of the set, each with `prefix`, joined by "+".
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
  return joined(ici, "") + (on_both_levels() ? "+" : "") + joined(dcn, "dcn_");
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

std::int64_t Mesh::size(AxisSet axes, const Extents& level) {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < kAxes.size(); ++i) {
    if (axes.has(kAxes[i])) size *= level.sizes[i];
  }
  return size;
}

std::int64_t Mesh::index(AxisSet axes, const Extents& level) const {
  std::int64_t index = 0;
  for (std::size_t i = 0; i < kAxes.size(); ++i) {
    if (axes.has(kAxes[i])) index = index * level.sizes[i] + rank_ / level.strides[i] % level.sizes[i];
  }
  return index;
}

std::int64_t Mesh::distance(AxisSet axes, const Extents& level, std::int64_t index) {
  std::int64_t distance = 0;
  for (std::size_t i = kAxes.size(); i-- > 0;) {
    if (!axes.has(kAxes[i])) continue;
    distance += index % level.sizes[i] * level.strides[i];
    index /= level.sizes[i];
  }
  return distance;
}

std::int64_t Mesh::size(AxisSet axes) const {
  return size(MeshGroup{axes, axes});
}

std::int64_t Mesh::index(AxisSet axes) const {
  return index(MeshGroup{axes, axes});
}

MeshGroup Mesh::group(AxisSet axes) const {
  const auto several = [&](const Extents& level) {
    AxisSet out{};
    for (const auto axis : kAxes) {
      if (axes.has(axis) && size(axis, level) > 1) out = out.with(axis);
    }
    return out;
  };
  return {several(ici_), several(dcn_)};
}

std::int64_t Mesh::size(const MeshGroup& group) const {
  return size(group.ici, ici_) * size(group.dcn, dcn_);
}

std::int64_t Mesh::index(const MeshGroup& group) const {
  return index(group.ici, ici_) * size(group.dcn, dcn_) + index(group.dcn, dcn_);
}

std::vector<std::int64_t> Mesh::ranks(const MeshGroup& group) const {
  const auto from_first = [&](std::int64_t index) {
    const std::int64_t nodes = size(group.dcn, dcn_);
    return distance(group.ici, ici_, index / nodes) + distance(group.dcn, dcn_, index % nodes);
  };
  const std::int64_t first = rank_ - from_first(index(group));
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < size(group); ++i) out.push_back(first + from_first(i));
  return out;
}

std::int64_t Mesh::place(Axis axis) const {
  return index(axis, dcn_) * size(axis, ici_) + index(axis, ici_);
}

std::int64_t Mesh::neighbour(Axis axis, Heading heading) const {
  const std::int64_t inside = size(axis, ici_);
  const std::int64_t ranks = inside * size(axis, dcn_);
  const auto from_first = [&](std::int64_t place) {
    return distance(axis, ici_, place % inside) + distance(axis, dcn_, place / inside);
  };
  const std::int64_t to = (place(axis) + (heading == Heading::onward ? 1 : ranks - 1)) % ranks;
  return rank_ - from_first(place(axis)) + from_first(to);
}

MeshGroup Mesh::way(Axis axis, Heading heading) const {
  const bool in_node = neighbour(axis, heading) / ranks_on_node() == rank_ / ranks_on_node();
  return in_node ? MeshGroup{.ici = axis} : MeshGroup{.dcn = axis};
}

}  // namespace perfbench::engine
