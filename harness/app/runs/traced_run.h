// The traced steps of a recorded run, and of two held side by side.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "harness/trace/attribution.h"
#include "harness/trace/step_alignment.h"

namespace perfbench::harness {

// Of every rank that the folder's run.json names, where there is one. Throws InputError where no step was traced, or a
// file is damaged.
std::vector<RankTrace> traces_of(const std::filesystem::path& folder);

struct TraceDifference {
  Attribution parts;
  StepAlignment operations;
};

// Throws InputError where either has no step.
TraceDifference hold_traces_side_by_side(const std::vector<RankTrace>& before, const std::vector<RankTrace>& after);

}  // namespace perfbench::harness
