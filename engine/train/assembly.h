// Everything that one rank trains with, constructed in the only possible order and destroyed in the reverse order.
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

// The objects that one rank computes with. Members are destroyed from the last to the first. The device goes last.
// Operations go before collectives and timeline, because an exception may leave a recording open: it holds the
// communicators of its collectives, and NCCL would wait for it, possibly for ever, when a communicator is destroyed.
struct Backend {
  std::shared_ptr<void> device;  // the device that the others use, if it is a separate object
  std::unique_ptr<ArenaBacking> device_memory;
  std::unique_ptr<ArenaBacking> host_memory;
  std::unique_ptr<Collectives> collectives;
  std::unique_ptr<Timeline> timeline;  // null: the host's clock tells the time
  std::unique_ptr<Ops> ops;
  std::unique_ptr<GpuTelemetry> telemetry;    // null: the device has no telemetry
  std::unique_ptr<DeviceTracer> tracer;       // null: the host computes, or CUPTI is missing
  std::function<std::int64_t()> noise_probe;  // of the device, in nanoseconds; empty: the processor's (noise_probe.h)
};

class Assembly {
 public:
  struct Options {
    Memory::Options memory = {};
    std::optional<InitRule> init = {};         // absent: init_rule(run)
    RunData data = {};                         // empty: a dry walk
    std::function<std::int64_t()> clock = {};  // empty: the backend's timeline, or the host's clock
  };
  // `run` must outlive it.
  Assembly(const spec::RunSpec& run, Backend backend, Options options);
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  DeviceTracer* tracer() { return backend_.tracer.get(); }
  GpuTelemetry* telemetry() { return backend_.telemetry.get(); }
  // The nanoseconds of the noise probe: the backend's, or the processor's on `threads` threads.
  std::int64_t probe_noise(int threads) {
    return backend_.noise_probe ? backend_.noise_probe() : engine::probe_noise(threads);
  }
  Memory& memory() { return memory_; }
  Context& context() { return context_; }
  Trainer& trainer() { return trainer_; }

 private:
  Backend backend_;  // its memory is in memory_; destroyed after the trainer's recordings
  Memory memory_;
  RunData data_;
  PhaseClock clock_;
  Context context_;
  Trainer trainer_;
};

}  // namespace perfbench::engine
