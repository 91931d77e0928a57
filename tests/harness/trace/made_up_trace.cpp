#include "tests/harness/trace/made_up_trace.h"

#include "harness/evidence/attempt.h"
#include "tests/harness/example_run.h"
#include "workloads/spec/record_json.h"

namespace perfbench::harness {

using spec::TraceEvent;
using spec::TraceKind;

MadeUpTrace& MadeUpTrace::add(TraceEvent event) {
  event.rank = trace_.rank;
  event.step = step_;
  trace_.events.push_back(std::move(event));
  ++trace_.end.events;
  return *this;
}

MadeUpTrace& MadeUpTrace::step(std::int64_t number, std::int64_t start, std::int64_t end) {
  step_ = number;
  ++trace_.end.steps;
  return host(TraceKind::step, "step", start, end);
}

MadeUpTrace& MadeUpTrace::host(TraceKind kind, const std::string& name, std::int64_t start, std::int64_t end,
                               std::int64_t correlation) {
  return add({.kind = kind, .name = name, .start_ns = start, .end_ns = end, .correlation = correlation});
}

MadeUpTrace& MadeUpTrace::collective(const std::string& name, std::int64_t start, std::int64_t end,
                                     std::int64_t correlation, const std::string& axis) {
  return add({.kind = TraceKind::collective,
              .name = name,
              .axis = axis,
              .start_ns = start,
              .end_ns = end,
              .lane = 1,
              .correlation = correlation,
              .bytes = 4096});
}

MadeUpTrace& MadeUpTrace::message(const std::string& name, const std::string& heading, std::int64_t submitted,
                                  std::int64_t start, std::int64_t end) {
  TraceEvent event{.kind = TraceKind::submit,
                   .name = name,
                   .axis = "pp",
                   .start_ns = submitted,
                   .end_ns = submitted + 1,
                   .correlation = ++messages_,
                   .heading = heading};
  add(event);
  event.kind = TraceKind::collective;
  event.start_ns = start;
  event.end_ns = end;
  return add(event);
}

MadeUpTrace& MadeUpTrace::device(TraceKind kind, const std::string& kernel_name, std::int64_t stream,
                                 std::int64_t start, std::int64_t end, std::int64_t correlation) {
  return add({.kind = kind,
              .kernel_name = kernel_name,
              .start_ns = start,
              .end_ns = end,
              .device = 0,
              .lane = stream,
              .correlation = correlation,
              .bytes = kind == TraceKind::kernel ? 0 : 256});
}

std::string file_text(const RankTrace& trace) {
  std::string text;
  for (const auto& event : trace.events) text += spec::to_json_line(event) + "\n";
  return text + spec::to_json_line(trace.end) + "\n";
}

std::string MadeUpTrace::file_text() const {
  return harness::file_text(trace_);
}

std::vector<RankTrace> example_traces() {
  std::vector<RankTrace> traces;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    MadeUpTrace made(rank);
    for (std::int64_t step = 10; step < 12; ++step) {
      const std::int64_t t = 1'000'000'000 * (step + 1);
      made.step(step, t, t + 1000)
          .host(TraceKind::phase, "forward", t + 100, t + 500)
          .host(TraceKind::range, "layers.0", t + 100, t + 500)
          .host(TraceKind::submit, "all_gather", t + 110, t + 120, step)
          .host(TraceKind::op, "matmul", t + 200, t + 400)
          .collective("all_gather", t + 150, t + 300, step);
    }
    traces.push_back(made.trace());
  }
  return traces;
}

void write_traces(const std::filesystem::path& directory, const std::vector<RankTrace>& traces) {
  std::filesystem::create_directories(directory);
  for (const auto& trace : traces) write_text(directory / trace_file(trace.rank), file_text(trace));
}

}  // namespace perfbench::harness
