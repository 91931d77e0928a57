#include "engine/parallel/mesh.h"

#include <array>
#include <string>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

// The axes from farthest to nearest, as mesh_spec.h orders them within a level.
constexpr std::array kOrder{MeshAxis::pp, MeshAxis::dp, MeshAxis::fsdp, MeshAxis::ep, MeshAxis::tp};
constexpr std::size_t kAxes = kOrder.size();

using Digits = std::array<std::int64_t, kAxes>;  // one number per axis, in kOrder

struct Coordinates {
  Digits dcn{};
  Digits ici{};
};

Digits sizes(const spec::MeshAxes& axes) {
  return {axes.pp, axes.dp, axes.fsdp, axes.ep, axes.tp};
}

Digits split(std::int64_t number, const Digits& radix) {
  Digits digits{};
  for (std::size_t i = kAxes; i-- > 0;) {
    digits[i] = number % radix[i];
    number /= radix[i];
  }
  return digits;
}

std::int64_t join(const Digits& digits, const Digits& radix) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < kAxes; ++i) number = number * radix[i] + digits[i];
  return number;
}

Coordinates coordinates(const spec::MeshSpec& spec, std::int64_t rank) {
  return {split(rank / spec.ici.size(), sizes(spec.dcn)), split(rank % spec.ici.size(), sizes(spec.ici))};
}

std::int64_t rank_at(const spec::MeshSpec& spec, const Coordinates& at) {
  return join(at.dcn, sizes(spec.dcn)) * spec.ici.size() + join(at.ici, sizes(spec.ici));
}

// Whether `part` varies within a group along `axis`.
bool belongs(MeshAxis part, MeshAxis axis) {
  if (axis != MeshAxis::data) return part == axis;
  return part == MeshAxis::dp || part == MeshAxis::fsdp || part == MeshAxis::ep;
}

// Index of `at` along the axis: its parts row-major in kOrder, each with dcn outside and ici inside.
std::int64_t index_along(const spec::MeshSpec& spec, const Coordinates& at, MeshAxis axis) {
  const Digits dcn = sizes(spec.dcn);
  const Digits ici = sizes(spec.ici);
  std::int64_t index = 0;
  for (std::size_t i = 0; i < kAxes; ++i) {
    if (belongs(kOrder[i], axis)) index = index * dcn[i] * ici[i] + at.dcn[i] * ici[i] + at.ici[i];
  }
  return index;
}

// Moves `at` to another index along the axis: the inverse of index_along.
void move_along(const spec::MeshSpec& spec, Coordinates& at, MeshAxis axis, std::int64_t index) {
  const Digits dcn = sizes(spec.dcn);
  const Digits ici = sizes(spec.ici);
  for (std::size_t i = kAxes; i-- > 0;) {
    if (!belongs(kOrder[i], axis)) continue;
    const std::int64_t along = index % (dcn[i] * ici[i]);
    index /= dcn[i] * ici[i];
    at.dcn[i] = along / ici[i];
    at.ici[i] = along % ici[i];
  }
}

}  // namespace

std::string_view axis_name(MeshAxis axis) {
  switch (axis) {
    case MeshAxis::dp:
      return "dp";
    case MeshAxis::fsdp:
      return "fsdp";
    case MeshAxis::tp:
      return "tp";
    case MeshAxis::ep:
      return "ep";
    case MeshAxis::pp:
      return "pp";
    case MeshAxis::data:
      return "data";
  }
  return "?";
}

Mesh::Mesh(const spec::MeshSpec& spec, std::int64_t rank) : spec_(spec), rank_(rank) {
  if (rank < 0 || rank >= spec.devices()) {
    throw LogicFault("rank " + std::to_string(rank) + " is outside a mesh of " + std::to_string(spec.devices()) +
                     " devices");
  }
}

std::int64_t Mesh::size(MeshAxis axis) const {
  const Digits dcn = sizes(spec_.dcn);
  const Digits ici = sizes(spec_.ici);
  std::int64_t size = 1;
  for (std::size_t i = 0; i < kAxes; ++i) {
    if (belongs(kOrder[i], axis)) size *= dcn[i] * ici[i];
  }
  return size;
}

std::int64_t Mesh::index(MeshAxis axis) const {
  return index_along(spec_, coordinates(spec_, rank_), axis);
}

std::vector<std::int64_t> Mesh::group(MeshAxis axis) const {
  Coordinates at = coordinates(spec_, rank_);
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < size(axis); ++i) {
    move_along(spec_, at, axis, i);
    ranks.push_back(rank_at(spec_, at));
  }
  return ranks;
}

}  // namespace perfbench::engine
