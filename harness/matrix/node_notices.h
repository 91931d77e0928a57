// Meshes that do not fit into a node: ici axes lie inside a node, and their collectives are planned accordingly.
#pragma once

#include <string>
#include <vector>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"

namespace perfbench::harness {

// One line for each mesh and hardware whose ici axes multiply to more devices than a node has
// (HardwareSpec::devices_per_node), however many cells share it. Skips excluded cells and cells that contradict
// themselves.
std::vector<std::string> notices_of_wide_meshes(const std::vector<Cell>& cells, const ModelCatalog& catalog);

}  // namespace perfbench::harness
