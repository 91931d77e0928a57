// Everything that watches the steps of a run, delays them or disturbs them on purpose: faults, turns, the noise probe,
// the GPU's telemetry, traces, and the files of what they see. The training itself is in engine/train.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "engine/core/tensor.h"
#include "engine/faults/faults.h"
#include "engine/main/ranks.h"
#include "engine/main/turns.h"
#include "engine/metrics/record_files.h"
#include "engine/trace/nvtx_ranges.h"
#include "engine/train/assembly.h"
#include "engine/train/traced_steps.h"

namespace perfbench::engine {

class Instrumentation {
 public:
  struct Options {
    std::filesystem::path dir;    // of the run
    std::filesystem::path turns;  // empty: the run steps without waiting for turns
    Faults* faults = nullptr;     // null: none
    int threads = 1;              // of the noise probe
  };

  // Begins the faults. All arguments must outlive it.
  Instrumentation(const Options& options, const spec::RunSpec& run, const Ranks& ranks, Assembly& assembly);

  // Ends the start-up, which began at `started_ns`. Returns the nanoseconds that it took.
  std::int64_t begin_steps(std::int64_t started_ns);
  // Waits for the run's turn and takes a step. The work done before it is not counted in its FLOPs and traffic.
  spec::StepRecord step(std::int64_t number);
  // Writes the record of a step. After a traced step, waits for all ranks, so that a rank's work on its trace is not in
  // another rank's next step.
  void write(const spec::StepRecord& record);
  // Waits for a last turn: what follows the steps would disturb the other run's last step.
  void end_steps();
  // Takes the steps that run.trace_steps asks for, from number `first` on. They are neither timed nor summed up, so it
  // comes after the result is written. A trace that cannot be written is an error message and not an exception.
  void trace_further_steps(std::int64_t first);

 private:
  std::filesystem::path file_of_rank(const char* name) const;

  const Options options_;
  const spec::RunSpec& run_;
  const Ranks& ranks_;
  Assembly& assembly_;
  LineFile steps_;
  std::optional<LineFile> gpu_samples_;  // for a device with telemetry
  std::unique_ptr<TraceSink> ranges_;    // null: nobody wants NVTX ranges in timed steps
  Tensor held_by_fault_;
  RunClock* own_clock_ = nullptr;  // null: the machine's; only a demonstration has its own
  std::optional<StepTracer> tracer_;
  std::optional<Turns> turns_;
};

}  // namespace perfbench::engine
