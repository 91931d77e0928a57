// What a comparison says of a cell that gave no value to compare.
#pragma once

#include <optional>
#include <string>

#include "harness/compare/cell_runs.h"
#include "harness/verdict/verdict.h"

namespace perfbench::harness {

// REGRESSED, of whatever metric, for a cell whose newest run that took all its steps lost its loss. To be asked where
// the other side has what this one lost.
std::optional<Decision> diverged_now(const CellRuns& cell);

// Why nothing can be made of `metric`: "no run of it is ok: diverged: the loss became NaN at step 3". Empty where a run
// has a value above 0.
std::string why_no_value(const CellRuns& cell, const std::string& metric);

}  // namespace perfbench::harness
