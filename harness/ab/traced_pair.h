// Where the difference of a cell is: one more run of each side, with traced steps, held against each other.
#pragma once

#include <string>

#include "harness/ab/side_execution.h"
#include "harness/trace/attribution.h"

namespace perfbench::harness {

struct TracedPair {
  std::optional<Attribution> attribution;
  std::string problem;  // why there is none
  bool cancelled = false;
};

// The runs are those of the cell with traced steps added: other runs, whose timed steps are of no comparison. They are
// stored beside the others.
TracedPair trace_pair(const SideExecution& execution, const AbCell& cell);

}  // namespace perfbench::harness
