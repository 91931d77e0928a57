// Utilisation of a cell's devices: the figures that reports and comparisons show.
#pragma once

#include <optional>

#include "harness/compare/cell_runs.h"
#include "harness/compare/device_peak.h"
#include "workloads/spec/flops.h"

namespace perfbench::harness {

// The median over the cell's trusted attempts, each under `definition` with its own step time and peak. Nothing if none
// has both.
std::optional<double> mfu_fraction(const CellRuns& cell, const HardwareByName& hardware,
                                   spec::FlopDefinition definition);

// The same with the FLOPs that the schedule executes, recomputation among them (FlopCounts::executed_flops), in place
// of a definition's. Rank 0 stands for all: they do equal work.
std::optional<double> hfu_fraction(const CellRuns& cell, const HardwareByName& hardware);

}  // namespace perfbench::harness
