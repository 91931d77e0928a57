// The metrics of a whole attempt of a training program, all from its samples and its result.
#pragma once

#include <optional>
#include <vector>

#include "harness/evidence/run_metrics.h"
#include "harness/readers/settle.h"
#include "workloads/spec/program_result.h"
#include "workloads/spec/sample.h"

namespace perfbench::harness {

// Step times in seconds, in order. If means cover different numbers of steps, a mean over n steps appears n times.
std::vector<double> step_times_s(const readers::Settled& settled);

// Metrics of the catalog under its names, and other metrics that the program printed under the names of its reader: the
// median over the run, or the last value if that was declared. `run` has a program. Rates need the work that the user
// declared.
std::vector<MetricValue> program_metrics(const spec::RunSpec& run, const std::vector<spec::Sample>& samples,
                                         const std::optional<spec::ProgramResult>& result);

}  // namespace perfbench::harness
