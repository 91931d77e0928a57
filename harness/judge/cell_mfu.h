// The peak with which MFU is computed.
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

// The name of a run's devices: its `hardware`. For GPUs of the "host" it is the driver's name for them (a fact of the
// environment, and an alias in workloads/hardware), or "host" if that is unknown.
std::string hardware_name(const spec::RunSpec& run, const std::map<std::string, std::string>& environment);

// The driver's name of the GPU that a run used, if it is not a name of the hardware that the run asked for (`hardware:
// h100` on an H200). Empty if it is, on a CPU, and if either is unknown.
std::string other_gpu(const spec::RunSpec& run, const std::map<std::string, std::string>& environment,
                      const HardwareByName& hardware);

// The measured peak of one device: of the hardware with that hardware_name, or for the CPU of the "host" the fp32 rate
// of a rank's threads on this class of machine (ClassPeak; a rank counts as a device there). Null if it is unknown.
const ClassPeak* measured_peak(const StoredAttempt& attempt,
                               const HardwareByName& hardware);  // null: no measurement counts
std::optional<double> device_peak_flops_per_s(const StoredAttempt& attempt, const HardwareByName& hardware);

// The utilisation of a cell's devices, as reports and comparisons show it: under `definition`, from the median of the
// mean step time over the cell's trusted attempts, and their peak. nullopt if no attempt has both.
std::optional<double> mfu_fraction(const CellRuns& cell, const HardwareByName& hardware,
                                   spec::FlopDefinition definition);

// The same with the FLOPs that the schedule executes, including recomputation (FlopCounts::executed_flops), instead of
// a definition's. Uses rank 0, because all ranks do equal work.
std::optional<double> hfu_fraction(const CellRuns& cell, const HardwareByName& hardware);

// Adds the metrics that runs do not record, because they follow from the step time (spec::follows_from_mean_step). MFU
// uses the definition causal.
void add_computed_metrics(StoredAttempt& attempt, const HardwareByName& hardware);
void add_computed_metrics(std::vector<CellRuns>& cells, const HardwareByName& hardware);

}  // namespace perfbench::harness
