// What one rank trains with, put together in the one order in which that can be done and taken apart in the reverse.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "engine/core/memory.h"
#include "engine/core/timeline.h"
#include "engine/data/run_data.h"
#include "engine/metrics/gpu_telemetry.h"
#include "engine/metrics/noise_probe.h"
#include "engine/ops/ops.h"
#include "engine/parallel/collectives.h"
#include "engine/trace/device_tracer.h"
#include "engine/train/trainer.h"

namespace perfbench::engine {

// What one rank computes on. Members go from the last to the first: the device last, and before collectives and
// timeline the operations, because of a recording that an exception left open. A recording holds the communicators of
// its collectives, and NCCL waits for it, for ever if need be, when a communicator goes.
struct Backend {
  std::shared_ptr<void> device;  // what the others work on, if it is an object of its own
  std::unique_ptr<ArenaBacking> device_memory;
  std::unique_ptr<ArenaBacking> host_memory;
  std::unique_ptr<Collectives> collectives;
  std::unique_ptr<Timeline> timeline;  // absent: the host's clock tells the time
  std::unique_ptr<Ops> ops;
  std::unique_ptr<GpuTelemetry> telemetry;    // absent: the device says nothing of itself
  std::unique_ptr<DeviceTracer> tracer;       // absent: what runs is what the host runs, or CUPTI is missing
  std::function<std::int64_t()> noise_probe;  // of the device, in nanoseconds; absent: the processor's (noise_probe.h)
};

class Assembly {
 public:
  struct Options {
    Memory::Options memory = {};
    std::optional<InitRule> init = {};         // absent: init_rule(run)
    RunData data = {};                         // absent: a dry walk
    std::function<std::int64_t()> clock = {};  // absent: the backend's timeline, or the host's clock
  };
  // `run` must outlive it.
  Assembly(const spec::RunSpec& run, Backend backend, Options options);
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  DeviceTracer* tracer() { return backend_.tracer.get(); }
  GpuTelemetry* telemetry() { return backend_.telemetry.get(); }
  // Nanoseconds of the noise probe of what computes: the backend's, or that of so many threads of the processor.
  std::int64_t probe_noise(int threads) {
    return backend_.noise_probe ? backend_.noise_probe() : engine::probe_noise(threads);
  }
  Memory& memory() { return memory_; }
  Context& context() { return context_; }
  Trainer& trainer() { return trainer_; }

 private:
  Backend backend_;  // its memory is in memory_; goes after the recordings that the trainer has
  Memory memory_;
  RunData data_;
  PhaseClock clock_;
  Context context_;
  Trainer trainer_;
};

}  // namespace perfbench::engine
