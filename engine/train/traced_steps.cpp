#include "engine/train/traced_steps.h"

#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/core/error.h"
#include "engine/metrics/record_files.h"
#include "engine/trace/device_spans.h"
#include "engine/trace/nvtx_ranges.h"
#include "engine/train/dry_walk.h"
#include "engine/train/tracing.h"
#include "workloads/spec/record_json.h"

namespace perfbench::engine {
namespace {

// Lines until the first failure.
class TraceFile {
 public:
  explicit TraceFile(const std::filesystem::path& path) {
    attempt([&] { file_.emplace(path); });
  }

  void append(std::string_view lines) {
    attempt([&] {
      if (file_) file_->append(lines);
    });
  }
  const std::string& problem() const { return problem_; }

 private:
  template <class Action>
  void attempt(const Action& action) {
    try {
      action();
    } catch (const EngineError& e) {
      problem_ = e.what();
      file_.reset();
    }
  }

  std::optional<LineFile> file_;
  std::string problem_;
};

std::string lines_of(const std::vector<spec::TraceEvent>& events) {
  std::string lines;
  for (const auto& event : events) {
    if (!lines.empty()) lines += '\n';
    lines += spec::to_json_line(event);
  }
  return lines;
}

// One step, its spans in `recorder` and its device work returned.
std::vector<spec::TraceEvent> traced_step(Context& context, Trainer& trainer, TraceRecorder& recorder,
                                          const TracedSteps& steps, Recordings recordings, std::int64_t step) {
  const std::int64_t rank = context.collectives.mesh().rank();
  const auto ranges = make_nvtx_ranges(&recorder);
  TraceSink& host = ranges ? *ranges : recorder;
  std::vector<spec::TraceEvent> device_events;
  if (steps.device == nullptr) {
    const Tracing tracing(context, host, recordings);
    trainer.step(step);
  } else {
    DeviceSpans sink(host, *steps.device);
    steps.device->begin_step();
    {
      const Tracing tracing(context, sink, recordings);
      trainer.step(step);  // ends by reading what the device computed last
    }
    device_events = steps.device->end_step(rank, step);
  }
  auto events = recorder.take(rank, step);
  events.insert(events.end(), std::make_move_iterator(device_events.begin()),
                std::make_move_iterator(device_events.end()));
  return events;
}

}  // namespace

Recordings recordings_of_traced_steps(Context& context, Trainer& trainer, const spec::RunSpec& run,
                                      const TracedSteps& steps) {
  if (!run.device_graphs || !context.ops.records()) return Recordings::used;  // there are none
  if (steps.device == nullptr || !steps.device->begin_naming()) {
    trainer.step(steps.first);  // as every rank must: others may have a tracer that learns
    return Recordings::unused;
  }
  {
    SpanCounter nobody;
    DeviceSpans sink(nobody, *steps.device);
    const Tracing tracing(context, sink, Recordings::traced);
    trainer.step(steps.first);
  }
  steps.device->end_naming();
  return Recordings::traced;
}

std::string run_traced_steps(Context& context, Trainer& trainer, const spec::RunSpec& run, const TracedSteps& steps,
                             const std::filesystem::path& file) {
  const std::int64_t rank = context.collectives.mesh().rank();
  TraceRecorder recorder(count_spans(run, rank));
  TraceFile out(file);
  const Recordings recordings = recordings_of_traced_steps(context, trainer, run, steps);
  spec::TraceEnd end{.rank = rank, .steps = steps.count, .executed_singly = recordings == Recordings::unused};
  for (std::int64_t step = steps.first; step < steps.first + steps.count; ++step) {
    const auto events = traced_step(context, trainer, recorder, steps, recordings, step);
    end.events += static_cast<std::int64_t>(events.size());
    out.append(lines_of(events));
  }
  end.buffers = recorder.buffers();
  end.dropped_records = recorder.dropped();
  if (steps.device != nullptr) {
    end.buffers += steps.device->buffers();
    end.dropped_records += steps.device->dropped_records();
  }
  out.append(spec::to_json_line(end));
  return out.problem();
}

}  // namespace perfbench::engine
