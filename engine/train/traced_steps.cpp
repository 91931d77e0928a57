#include "engine/train/traced_steps.h"

#include <optional>
#include <string_view>

#include "engine/core/error.h"
#include "engine/metrics/record_files.h"
#include "engine/train/dry_walk.h"
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

class Tracing {
 public:
  Tracing(Context& context, TraceSink& sink) : context_(context) { context_.set_trace(&sink); }
  ~Tracing() { context_.set_trace(nullptr); }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

 private:
  Context& context_;
};

}  // namespace

std::string run_traced_steps(Context& context, Trainer& trainer, const spec::RunSpec& run, const TracedSteps& steps,
                             const std::filesystem::path& file) {
  const std::int64_t rank = context.collectives.mesh().rank();
  TraceRecorder recorder(count_spans(run, rank));
  TraceFile out(file);
  spec::TraceEnd end{.rank = rank, .steps = steps.count};
  for (std::int64_t step = steps.first; step < steps.first + steps.count; ++step) {
    {
      const Tracing tracing(context, recorder);
      trainer.step(step);
    }
    const auto events = recorder.take(rank, step);
    end.events += static_cast<std::int64_t>(events.size());
    out.append(lines_of(events));
  }
  end.buffers = recorder.buffers();
  end.dropped_records = recorder.dropped();
  out.append(spec::to_json_line(end));
  return out.problem();
}

}  // namespace perfbench::engine
