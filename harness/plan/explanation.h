// Explains the memory of a cell and finds alternatives: its own dry walk with every tensor, and walks of cells that
// differ from it in one thing (variants.h) or, if none of them fits, in two that each reduce memory.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/plan/planner.h"

namespace perfbench::harness {

struct Alternative {
  std::vector<std::size_t> options;  // the options of change_options() that were applied
  PlannedCell planned;               // its label names the differences
};

struct Explanation {
  PlannedCell cell;  // including its tensors
  // For a cell that does not fit: alternatives that do. For a cell that fits: policies that recompute less and still
  // fit. Sorted, ascending, by: changes, devices, FLOPs of all devices, bytes that a device sends to others and to the
  // host, microbatches.
  std::vector<Alternative> alternatives;
  std::optional<Alternative>
      smallest;  // for a cell that does not fit, if no alternative does: the one that needs least
  std::size_t tried = 0;
};

// Takes the request of plan_cells(); TensorList has no effect here. A cell that was not counted, or whose device has
// unknown memory, has no alternatives.
Explanation explain_cell(const Cell& cell, PlanRequest request);

}  // namespace perfbench::harness
