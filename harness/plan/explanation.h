// Why a cell takes the memory that it does, and what it could be instead: its own dry walk with every tensor, and those
// of cells that differ from it in one thing (variants.h), or, where none of them fits, in two that each take less.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/plan/planner.h"

namespace perfbench::harness {

struct Alternative {
  std::vector<std::size_t> options;  // that were taken, of change_options()
  PlannedCell planned;               // its label is what differs
};

struct Explanation {
  PlannedCell cell;  // with its tensors
  // Of a cell that does not fit: those that do. Of one that does: policies that compute less again and still fit. Least
  // first by: changes, devices, FLOPs of all devices, bytes that a device sends to others and to the host,
  // microbatches.
  std::vector<Alternative> alternatives;
  std::optional<Alternative> smallest;  // of a cell that does not fit, where none does: which needs least
  std::size_t tried = 0;
};

// As plan_cells(), whose request it takes; TensorList is of no meaning here. A cell that was not counted, or whose
// device's memory is not known, has no alternatives.
Explanation explain_cell(const Cell& cell, PlanRequest request);

}  // namespace perfbench::harness
