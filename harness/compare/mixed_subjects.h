// A baseline is of one subject (harness/store/subject.h). What mixes several is refused, with the list of them.
#pragma once

#include <string>
#include <vector>

#include "harness/compare/cell_runs.h"

namespace perfbench::harness {

// Both look at attempts that ended ok, because no others give a figure, and throw InputError. `what` begins the
// message: "[compare] 'all'". `asked` is what a person may name one subject of with an @ behind it; empty: nothing.

// Refuses a run that has several subjects on one machine.
void refuse_mixed_runs(const std::vector<CellRuns>& cells, const std::string& what, const std::string& asked);

// Refuses that too, and several engines, faults or sides among the runs of one machine. Libraries of two runs may
// differ, because not every run loads all of them.
void refuse_mixed_baseline(const std::vector<CellRuns>& cells, const std::string& what, const std::string& asked);

}  // namespace perfbench::harness
