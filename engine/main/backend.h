// What one rank computes on, by the run's device.
#pragma once

#include <filesystem>

#include "engine/parallel/processes.h"
#include "engine/train/assembly.h"
#include "workloads/spec/environment.h"

namespace perfbench::engine {

// By run.device. `processes` is absent with one rank. `folder`: where a CPU's offloaded values go to a file. Throws
// EngineError (infeasible) when there is no such device, or ranks that share a node of the mesh do not share one.
Backend make_backend(const spec::RunSpec& run, Processes* processes, const std::filesystem::path& folder);

// cuda_backend.cpp, or no_cuda.cpp in a build without CUDA.
Backend make_cuda_backend(const spec::RunSpec& run, Processes* processes);
void add_cuda_facts(spec::EnvironmentRecord& environment);

}  // namespace perfbench::engine
