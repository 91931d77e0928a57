// Checks that every rank has a GPU for itself.
#pragma once

#include "engine/cuda/cuda_device.h"
#include "engine/parallel/processes.h"

namespace perfbench::engine {

// Called by all ranks, before they allocate memory of their devices. Throws EngineError (infeasible) on all of them if
// some share a GPU: they would share its memory and its time, and NCCL refuses them later with a less helpful message.
void require_own_gpus(const CudaDevice& device, Processes& processes);

}  // namespace perfbench::engine
