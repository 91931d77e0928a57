// What watching a step costs it: steps that nobody watches alternate with watched ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/metrics/gpu_telemetry.h"
#include "engine/trace/device_tracer.h"
#include "engine/train/trainer.h"

namespace perfbench::engine {

struct Watchers {
  DeviceTracer* device = nullptr;     // absent: nothing tells what a device does
  GpuTelemetry* telemetry = nullptr;  // absent: nothing tells how a device is
};

struct WatchedStep {
  std::int64_t round = 0;
  std::string_view by;  // "nobody"; "spans": the recorder; "device": the recorder and the device's tracer; "telemetry"
  std::int64_t wall_ns = 0;
};

// `rounds` rounds of one step of each kind that `watchers` allows, in an order that turns from round to round, after
// two steps of each that are not reported. Only steps that the device's tracer watches replay what was recorded under
// it. What is read after a step (buffers of records, samples) is not in its time.
void run_watched_steps(Context& context, Trainer& trainer, const spec::RunSpec& run, const Watchers& watchers,
                       std::int64_t rounds, const std::function<void(const WatchedStep&)>& report);

}  // namespace perfbench::engine
