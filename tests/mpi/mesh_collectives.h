// Collectives between the ranks of this test run, for the backend that it trains on: mesh_collectives_cpu.cpp, or
// _nccl.cpp.
#pragma once

#include <memory>

#include "engine/parallel/collectives.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

std::unique_ptr<Collectives> collectives_of(const spec::RunSpec& run);

}  // namespace perfbench::engine
