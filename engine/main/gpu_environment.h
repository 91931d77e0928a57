// Environment variables that CUDA and NCCL read once, at their start.
#pragma once

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// Call before anything starts CUDA, MPI included. For a run on several GPUs it sets these variables unless they are
// set:
//   CUDA_DEVICE_MAX_CONNECTIONS 32: queues from the host to the device. A run has up to seven streams (compute,
//     communication, copies, and one for each direction of a pipeline's messages, in and out). In a shared queue, a
//     stream that waits for another rank holds up the rest (CUDA programming guide, environment variables).
//   NCCL_LAUNCH_ORDER_IMPLICIT 1, without a pipeline: concurrent communicators are launched in the order of the host's
//     calls, which is the same on all ranks (NCCL documentation, environment variables; from 2.26 on). A pipeline's
//     messages must be able to pass each other, so there the order is left to their streams.
// Throws EngineError (infeasible) if CUDA_DEVICE_MAX_CONNECTIONS is 1 and the run has a pipeline: it would hang.
void prepare_gpu_environment(const spec::RunSpec& run);

}  // namespace perfbench::engine
