// Measures the cost of watching a step: unwatched steps alternate with watched ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/metrics/gpu_telemetry.h"
#include "engine/trace/device_tracer.h"
#include "engine/train/trainer.h"

namespace perfbench::engine {

struct Watchers {
  DeviceTracer* device = nullptr;     // null: nothing tells what a device does
  GpuTelemetry* telemetry = nullptr;  // null: the device has no telemetry
};

struct WatchedStep {
  std::int64_t round = 0;
  std::string_view by;  // "nobody"; "spans": the recorder; "device": the recorder and the device's tracer; "telemetry"
  std::int64_t wall_ns = 0;
};

// Runs `rounds` rounds of one step of each kind that `watchers` allows, in an order that rotates from round to round,
// after two steps of each kind that are not reported. Only steps that the device's tracer watches replay the recordings
// made under it. Reading buffers of records and samples after a step is not in its time.
void run_watched_steps(Context& context, Trainer& trainer, const spec::RunSpec& run, const Watchers& watchers,
                       std::int64_t rounds, const std::function<void(const WatchedStep&)>& report);

}  // namespace perfbench::engine
