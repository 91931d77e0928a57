// Steps that are traced and therefore not timed: those of a window among the timed ones (spec::ProfileSpec), and those
// that run after all of them.
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

// How traced steps treat the work that timed ones replay. It is recorded once more while the tracer learns which
// operation recorded which part, in one step that is neither timed nor in the trace; traced steps replay that
// recording. If the tracer cannot learn it, traced steps execute every operation individually: names are worth more
// than similarity to timed steps.
struct TracePreparation {
  Recordings recordings = Recordings::used;
  std::optional<spec::StepRecord> step = {};  // the step taken for it; absent if nothing is replayed
};

// `step` is the number of the step that it may take. `device` as below.
TracePreparation prepare_traced_steps(Context& context, Trainer& trainer, const spec::RunSpec& run,
                                      DeviceTracer* device, std::int64_t step);

class StepTracer {
 public:
  // `device` is null if the host computes, or if nothing tells what the device does. All arguments must outlive it.
  StepTracer(Context& context, Trainer& trainer, const spec::RunSpec& run, DeviceTracer* device);

  // Takes one of the run's timed steps. Its record calls it traced if it is in run.profile or prepares for that. Trace
  // events stay in memory: no file is written between timed steps.
  spec::StepRecord timed_step(std::int64_t step);

  // Takes `count` further steps from number `first` on. Writes `file` (workloads/spec/trace_record.h), the events of
  // each further step after that step. A failed write does not end the run, because other ranks and recorded steps do
  // not need the file. Returns the error, or an empty string.
  std::string finish(const std::filesystem::path& file, std::int64_t first, std::int64_t count);

 private:
  std::optional<spec::StepRecord> prepare(std::int64_t step);
  spec::StepRecord traced_step(std::int64_t step);

  Context& context_;
  Trainer& trainer_;
  const spec::RunSpec& run_;
  DeviceTracer* device_;
  TraceRecorder recorder_;
  std::optional<Recordings> recordings_;  // for traced steps, once that is known
  std::vector<spec::TraceEvent> events_;  // not yet written
  std::int64_t traced_steps_ = 0;
};

}  // namespace perfbench::engine
