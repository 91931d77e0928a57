// Utilisation of a cell's devices: the figures that reports and comparisons show.
#pragma once

#include <optional>
#include <vector>

#include "harness/compare/cell_runs.h"
#include "harness/compare/device_peak.h"
#include "workloads/spec/flops.h"

namespace perfbench::harness {

// Under `definition`, from the mean step time of the cell's trusted attempts (its median over them) and their peak.
// Nothing if none has both.
std::optional<double> mfu_fraction(const CellRuns& cell, const HardwareByName& hardware,
                                   spec::FlopDefinition definition);

// The same with the FLOPs that the schedule executes, recomputation among them (FlopCounts::executed_flops), in place
// of a definition's. Rank 0 stands for all: they do equal work.
std::optional<double> hfu_fraction(const CellRuns& cell, const HardwareByName& hardware);

// Adds the metrics that no run records because they follow from its step time (spec::follows_from_mean_step). MFU is
// that of the definition causal.
void add_computed_metrics(StoredAttempt& attempt, const HardwareByName& hardware);
void add_computed_metrics(std::vector<CellRuns>& cells, const HardwareByName& hardware);

}  // namespace perfbench::harness
