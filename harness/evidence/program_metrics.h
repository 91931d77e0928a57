// The numbers about a whole attempt of a training program, all from its samples and its result.
#pragma once

#include <optional>
#include <vector>

#include "harness/evidence/run_metrics.h"
#include "harness/readers/settle.h"
#include "workloads/spec/program_result.h"
#include "workloads/spec/sample.h"

namespace perfbench::harness {

// Step times in seconds, in order. A mean over n steps stands n times where means cover unlike numbers of steps.
std::vector<double> step_times_s(const readers::Settled& settled);

// Metrics of the catalog under its names, and what the program printed besides under the names of its reader: the
// median over the run, or the last value where that is declared. `run` has a program. A rate is there only where the
// user declared the work that it is made of.
std::vector<MetricValue> program_metrics(const spec::RunSpec& run, const std::vector<spec::Sample>& samples,
                                         const std::optional<spec::ProgramResult>& result);

}  // namespace perfbench::harness
