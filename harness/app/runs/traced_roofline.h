// The roofline of a traced run. An engine counts the work of its operations, and a data file has the peaks of its
// device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/runs/traced_run.h"
#include "harness/trace/roofline.h"

namespace perfbench::harness {

struct TracedRoofline {
  std::int64_t rank = 0;
  std::vector<OperationRate> rates;
  std::optional<DevicePeaks> peaks = {};  // in the run's precision; for a CPU, the fp32 rate that the run measured
  std::string missing = {};               // why there are no rates; empty if there are some
};

// For the first of the traces. nullopt for a run of a training program, and for a folder without run.json: nothing
// counts their operations.
std::optional<TracedRoofline> roofline_of(const TracedRun& traced, const Installation& installation);

}  // namespace perfbench::harness
