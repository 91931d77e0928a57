// The traced steps of a recorded run, and of two runs side by side.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "harness/trace/attribution.h"
#include "harness/trace/step_alignment.h"
#include "workloads/spec/mesh_spec.h"

namespace perfbench::harness {

// The mesh that the folder's run.json names, if it exists. Throws InputError if it is damaged.
std::optional<spec::MeshSpec> mesh_of(const std::filesystem::path& folder);

// Reads the traces of every rank that the folder's run.json names, if it exists. Throws InputError if no step was
// traced, or a file is damaged.
std::vector<RankTrace> traces_of(const std::filesystem::path& folder);

struct TraceDifference {
  Attribution parts;
  StepAlignment operations;
};

// Throws InputError if either run has no traced step.
TraceDifference hold_traces_side_by_side(const std::vector<RankTrace>& before, const std::vector<RankTrace>& after);

}  // namespace perfbench::harness
