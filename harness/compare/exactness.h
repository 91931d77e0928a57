// Whether a number that has no noise (spec::MetricNoise::exact) is made by the same arithmetic on both sides.
#pragma once

#include <string>

#include "harness/compare/cell_runs.h"

namespace perfbench::harness {

// Why equal work may give unlike bits on the two sides: other libraries or kernels, or a run that need not repeat.
// Empty: it does not. `theirs` is null where the baseline is numbers, of which nothing of that is known.
std::string why_not_exact(const CellRuns& cell, const CellRuns* theirs);

}  // namespace perfbench::harness
