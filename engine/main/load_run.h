// run.json, checked.
#pragma once

#include <filesystem>

#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

// Throws BadInput with file and pointer for what is no run, EngineError (infeasible) for what no engine can train yet.
spec::RunSpec load_run(const std::filesystem::path& file);

}  // namespace perfbench::engine
