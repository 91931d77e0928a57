// Steps that are traced and, for that reason, in no timing: those of a window among the timed ones (spec::ProfileSpec),
// and those that run after all of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/trace/device_tracer.h"
#include "engine/trace/trace_recorder.h"
#include "engine/train/trainer.h"

namespace perfbench::engine {

// How traced steps treat what timed ones replay. It is recorded once more while the tracer learns which operation
// recorded what, in one step that is neither timed nor in the trace, and traced steps replay that. Where nothing can
// learn it, they execute every operation by itself: names are worth more than likeness.
struct TracePreparation {
  Recordings recordings = Recordings::used;
  std::optional<spec::StepRecord> step = {};  // that was taken for it; none where nothing is replayed
};

// `step`: the number of the step that it may take. `device` as below.
TracePreparation prepare_traced_steps(Context& context, Trainer& trainer, const spec::RunSpec& run,
                                      DeviceTracer* device, std::int64_t step);

class StepTracer {
 public:
  // `device` is absent where the host computes, or nothing tells what the device does. All must outlive it.
  StepTracer(Context& context, Trainer& trainer, const spec::RunSpec& run, DeviceTracer* device);

  // One of the run's timed steps, which its record calls traced where it is of run.profile or prepares for it. What it
  // traced waits in memory: no file is written between timed steps.
  spec::StepRecord timed_step(std::int64_t step);

  // `count` further steps from number `first` on. Writes `file` (workloads/spec/trace_record.h), each further step's
  // events after the step. A file that cannot be written does not end the run, whose other ranks and recorded steps do
  // not need it: returns what went wrong, or nothing.
  std::string finish(const std::filesystem::path& file, std::int64_t first, std::int64_t count);

 private:
  std::optional<spec::StepRecord> prepare(std::int64_t step);
  spec::StepRecord traced_step(std::int64_t step);

  Context& context_;
  Trainer& trainer_;
  const spec::RunSpec& run_;
  DeviceTracer* device_;
  TraceRecorder recorder_;
  std::optional<Recordings> recordings_;  // of traced steps, once that is known
  std::vector<spec::TraceEvent> events_;  // not yet written
  std::int64_t traced_steps_ = 0;
};

}  // namespace perfbench::engine
