// The traced steps of a recorded run, and of two runs side by side.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/evidence/trace_file.h"
#include "harness/trace/attribution.h"
#include "harness/trace/step_alignment.h"
#include "workloads/spec/environment.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {

struct TracedRun {
  std::filesystem::path folder;      // of its attempt
  std::optional<spec::RunSpec> run;  // of the folder's run.json, if it exists
  // Both are absent if the engine ran without the harness, or if their file is damaged. A trace is shown without them.
  std::optional<AttemptRecord> attempt = {};
  std::optional<spec::EnvironmentRecord> environment = {};
  std::vector<RankTrace> traces = {};  // of every rank that run.json names; never empty
};

// Throws InputError if no step was traced, or a file is damaged.
TracedRun read_traced_run(const std::filesystem::path& folder);

struct TraceDifference {
  Attribution parts;
  StepAlignment operations;
};

// Throws InputError if either run has no traced step.
TraceDifference hold_traces_side_by_side(const std::vector<RankTrace>& before, const std::vector<RankTrace>& after);

}  // namespace perfbench::harness
