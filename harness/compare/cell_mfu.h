// Model FLOP utilisation of a cell: the one figure that reports and comparisons show.
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

}  // namespace perfbench::harness
