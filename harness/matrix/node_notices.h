// Meshes that a node cannot hold: ici axes lie inside a node, and what their collectives take is planned as if they
// did.
#pragma once

#include <string>
#include <vector>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"

namespace perfbench::harness {

// One line for each mesh and hardware whose ici axes multiply to more devices than a node of it has
// (HardwareSpec::devices_per_node), however many cells share it. Excluded cells and those that contradict themselves do
// not count.
std::vector<std::string> notices_of_wide_meshes(const std::vector<Cell>& cells, const ModelCatalog& catalog);

}  // namespace perfbench::harness
