#include "harness/matrix/node_notices.h"

#include <fmt/core.h>

#include <cstdint>
#include <map>
#include <utility>

namespace perfbench::harness {
namespace {

std::string axes_text(const spec::MeshAxes& axes) {
  std::string out;
  auto add = [&out](const spec::Field& field, std::int64_t size) {
    if (size > 1) out += fmt::format("{}{} {}", out.empty() ? "" : " ", field.name, size);
  };
  spec::MeshAxes::fields(axes, add);
  return out;
}

// How to write the mesh, if only fsdp is too wide and whole nodes can hold it.
std::string proposal(const spec::MeshAxes& axes, std::int64_t per_node) {
  const auto others = axes.size() / axes.fsdp;
  if (per_node % others != 0) return {};
  const auto inside = per_node / others;
  if (axes.fsdp % inside != 0) return {};
  return fmt::format(" (fsdp: {}, dcn_fsdp: {})", inside, axes.fsdp / inside);
}

struct WideMesh {
  const Cell* first = nullptr;
  std::size_t cells = 0;
};

}  // namespace

std::vector<std::string> notices_of_wide_meshes(const std::vector<Cell>& cells, const ModelCatalog& catalog) {
  std::map<std::string, std::int64_t> per_node;
  std::map<std::pair<std::string, std::string>, WideMesh> wide;  // by hardware and axes
  for (const auto& cell : cells) {
    const auto& run = cell.run;
    if (cell.excluded || cell.infeasible || run.mesh.ici.size() == 1 || run.hardware == "host") continue;
    const auto known = per_node.try_emplace(run.hardware, 0);
    if (known.second) known.first->second = catalog.hardware(run.hardware).devices_per_node;
    const auto node = known.first->second;
    if (node == 0 || run.mesh.ici.size() <= node) continue;
    auto& mesh = wide[{run.hardware, axes_text(run.mesh.ici)}];
    if (++mesh.cells == 1) mesh.first = &cell;
  }
  std::vector<std::string> out;
  for (const auto& [key, mesh] : wide) {
    const auto& [hardware, axes] = key;
    const auto node = per_node.at(hardware);
    const auto who = mesh.cells == 1 ? fmt::format("the cell '{}' puts", mesh.first->label)
                                     : fmt::format("{} cells, the first '{}', put", mesh.cells, mesh.first->label);
    out.push_back(
        fmt::format("{} {} inside a node, but a node of {} has {} devices: use a dcn axis for devices across nodes{}",
                    who, axes, hardware, node, proposal(mesh.first->run.mesh.ici, node)));
  }
  return out;
}

}  // namespace perfbench::harness
