// Makes the backend that one rank computes on, by the run's device.
#pragma once

#include <filesystem>

#include "engine/parallel/processes.h"
#include "engine/train/assembly.h"
#include "workloads/spec/environment.h"

namespace perfbench::engine {

// Selected by run.device. `processes` is null with one rank. `folder`: where offloaded values of a CPU go to a file.
// Throws EngineError (infeasible) if there is no such device, or if ranks on one node of the mesh run on different
// nodes.
Backend make_backend(const spec::RunSpec& run, Processes* processes, const std::filesystem::path& folder);

// Implemented in cuda_backend.cpp, or in no_cuda.cpp in a build without CUDA.
Backend make_cuda_backend(const spec::RunSpec& run, Processes* processes);
void add_cuda_facts(spec::EnvironmentRecord& environment);

}  // namespace perfbench::engine
