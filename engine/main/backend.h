// What one rank computes on, and the one place that says in which order it goes.
#pragma once

#include <memory>

#include "engine/core/memory.h"
#include "engine/core/timeline.h"
#include "engine/metrics/gpu_telemetry.h"
#include "engine/ops/ops.h"
#include "engine/parallel/processes.h"
#include "engine/trace/device_tracer.h"
#include "workloads/spec/environment.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

// Members go from the last to the first: the device last, and before collectives and timeline the operations, because
// they hold the recordings. A recording holds the communicators of its collectives, and NCCL waits for it, for ever if
// need be, when a communicator goes.
struct Backend {
  std::shared_ptr<void> device;  // what the others work on, if it is an object of its own
  std::unique_ptr<ArenaBacking> device_memory;
  std::unique_ptr<ArenaBacking> host_memory;
  std::unique_ptr<Collectives> collectives;
  std::unique_ptr<Timeline> timeline;  // absent: the host's clock tells the time
  std::unique_ptr<Ops> ops;
  std::unique_ptr<GpuTelemetry> telemetry;  // absent: the device says nothing of itself
  std::unique_ptr<DeviceTracer> tracer;     // absent: what runs is what the host runs, or CUPTI is missing
};

// By run.device. `processes` is absent with one rank. Throws EngineError (infeasible) when there is no such device.
Backend make_backend(const spec::RunSpec& run, Processes* processes);

// cuda_backend.cpp, or no_cuda.cpp in a build without CUDA.
Backend make_cuda_backend(const spec::RunSpec& run, Processes* processes);
void add_cuda_facts(spec::EnvironmentRecord& environment);

}  // namespace perfbench::engine
