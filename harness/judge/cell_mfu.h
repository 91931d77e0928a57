// The peak that MFU is held against.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/cell_runs.h"
#include "harness/records/stored_attempt.h"
#include "workloads/spec/flops.h"
#include "workloads/spec/hardware.h"

namespace perfbench::harness {

using HardwareByName = std::map<std::string, spec::HardwareSpec>;

// What a run's devices are called: its `hardware`, or for GPUs of the "host" what the driver calls them (a fact of the
// environment, and an alias in workloads/hardware), "host" where that is not known.
std::string hardware_name(const spec::RunSpec& run, const std::map<std::string, std::string>& environment);

// What the driver calls the GPU that a run ran on, where that is none of the names of the hardware that the run names
// (`hardware: h100` on an H200). Empty where it is one, on a CPU, and where either is not known.
std::string other_gpu(const spec::RunSpec& run, const std::map<std::string, std::string>& environment,
                      const HardwareByName& hardware);

// Of one device: of the hardware by hardware_name, or for the CPU of the "host" the fp32 rate of a rank's threads on
// this class of machine (ClassPeak; there a rank is a device). Nothing if it is not known.
const ClassPeak* measured_peak(const StoredAttempt& attempt, const HardwareByName& hardware);  // null: none counts
std::optional<double> device_peak_flops_per_s(const StoredAttempt& attempt, const HardwareByName& hardware);

// Utilisation of a cell's devices: the figures that reports and comparisons show.
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
