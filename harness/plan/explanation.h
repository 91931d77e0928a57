// Why a cell takes the memory that it does, and what it could be instead: its own dry walk with every tensor, and those
// of cells that differ from it in one or two things (variants.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/plan/planner.h"

namespace perfbench::harness {

struct Alternative {
  std::int64_t changes = 0;
  PlannedCell planned;  // its label is what differs
};

struct Explanation {
  PlannedCell cell;  // with its tensors
  // Of a cell that does not fit: those that do. Of one that does: policies that compute less again and still fit. Least
  // first by: changes, devices, FLOPs of all devices, bytes that a device sends to others and to the host,
  // microbatches.
  std::vector<Alternative> alternatives;
  std::optional<Alternative> smallest;  // of a cell that does not fit, where none does: which needs least
  std::int64_t tried = 0;
};

// As plan_cells(), whose request it takes; TensorList is of no meaning here. A cell that was not counted, or whose
// device's memory is not known, has no alternatives.
Explanation explain_cell(const Cell& cell, PlanRequest request);

}  // namespace perfbench::harness
