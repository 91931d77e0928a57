// Steps that are traced and, for that reason, not timed: they run after those that are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/trace/device_tracer.h"
#include "engine/train/trainer.h"

namespace perfbench::engine {

struct TracedSteps {
  std::int64_t first = 0;  // number of the first one
  std::int64_t count = 0;
  DeviceTracer* device = nullptr;  // absent where the host computes, or nothing tells what the device does
};

// How traced steps treat what timed ones replay. It is recorded once more while the tracer learns which operation
// recorded what, in one step (number steps.first) that is neither timed nor in the trace, and traced steps replay that.
// Where nothing can learn it, they execute every operation by itself: names are worth more than likeness.
Recordings recordings_of_traced_steps(Context& context, Trainer& trainer, const spec::RunSpec& run,
                                      const TracedSteps& steps);

// Runs the steps and writes `file` (workloads/spec/trace_record.h), each step's events after the step. A file that
// cannot be written does not end the run, whose other ranks and recorded steps do not need it: returns what went wrong,
// or nothing.
std::string run_traced_steps(Context& context, Trainer& trainer, const spec::RunSpec& run, const TracedSteps& steps,
                             const std::filesystem::path& file);

}  // namespace perfbench::engine
