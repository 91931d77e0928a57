#include "engine/train/traced_steps.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "engine/core/error.h"
#include "engine/metrics/record_files.h"
#include "engine/trace/device_spans.h"
#include "engine/trace/nvtx_ranges.h"
#include "engine/train/dry_walk.h"
#include "engine/train/tracing.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

// Writes lines until the first failure.
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

}  // namespace

TracePreparation prepare_traced_steps(Context& context, Trainer& trainer, const spec::RunSpec& run,
                                      DeviceTracer* device, std::int64_t step) {
  if (!run.device_graphs || !context.ops.records()) return {};  // there are no recordings
  if (device == nullptr || !device->begin_naming()) {
    // Takes a step nevertheless, as every rank must: others may have a tracer that learns.
    return {.recordings = Recordings::unused, .step = trainer.step(step)};
  }
  TracePreparation prepared{.recordings = Recordings::traced};
  {
    SpanCounter nobody;
    DeviceSpans sink(nobody, *device);
    const Tracing tracing(context, sink, Recordings::traced);
    prepared.step = trainer.step(step);
  }
  device->end_naming();
  return prepared;
}

StepTracer::StepTracer(Context& context, Trainer& trainer, const spec::RunSpec& run, DeviceTracer* device)
    : context_(context),
      trainer_(trainer),
      run_(run),
      device_(device),
      recorder_(count_spans(run, context.collectives.mesh().rank())) {}

std::optional<spec::StepRecord> StepTracer::prepare(std::int64_t step) {
  auto prepared = prepare_traced_steps(context_, trainer_, run_, device_, step);
  recordings_ = prepared.recordings;
  return prepared.step;
}

spec::StepRecord StepTracer::timed_step(std::int64_t step) {
  std::optional<spec::StepRecord> record;
  if (run_.profile.is_prepared_in(step)) record = prepare(step);
  if (run_.profile.has(step)) record = traced_step(step);
  if (!record) return trainer_.step(step);
  record->traced = 1;
  return *record;
}

spec::StepRecord StepTracer::traced_step(std::int64_t step) {
  const std::int64_t rank = context_.collectives.mesh().rank();
  const auto ranges = make_nvtx_ranges(&recorder_);
  TraceSink& host = ranges ? *ranges : recorder_;
  spec::StepRecord record;
  std::vector<spec::TraceEvent> device_events;
  if (device_ == nullptr) {
    const Tracing tracing(context_, host, recordings_.value());
    record = trainer_.step(step);
  } else {
    DeviceSpans sink(host, *device_);
    device_->begin_step();
    {
      const Tracing tracing(context_, sink, recordings_.value());
      record = trainer_.step(step);  // reads at its end what the device computed last
    }
    device_events = device_->end_step(rank, step);
  }
  for (auto& events : {recorder_.take(rank, step), std::move(device_events)}) {
    events_.insert(events_.end(), events.begin(), events.end());
  }
  ++traced_steps_;
  return record;
}

std::string StepTracer::finish(const std::filesystem::path& file, std::int64_t first, std::int64_t count) {
  TraceFile out(file);
  spec::TraceEnd end{.rank = context_.collectives.mesh().rank()};
  const auto write = [&] {
    end.events += static_cast<std::int64_t>(events_.size());
    if (!events_.empty()) out.append(lines_of(events_));
    events_.clear();
  };
  write();
  if (count > 0 && !recordings_) prepare(first);
  for (std::int64_t step = first; step < first + count; ++step) {
    traced_step(step);
    write();
  }
  end.steps = traced_steps_;
  end.executed_singly = recordings_ == Recordings::unused;
  end.buffers = recorder_.buffers();
  end.dropped_records = recorder_.dropped();
  if (device_ != nullptr) {
    end.buffers += device_->buffers();
    end.dropped_records += device_->dropped_records();
  }
  out.append(spec::to_json_line(end));
  return out.problem();
}

}  // namespace perfbench::engine
