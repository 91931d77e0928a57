#include "engine/main/instrumentation.h"

#include <cstdio>
#include <string>

#include "engine/core/monotonic_clock.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

Instrumentation::Instrumentation(const Options& options, const spec::RunSpec& run, const Ranks& ranks,
                                 Assembly& assembly)
    : options_(options), run_(run), ranks_(ranks), assembly_(assembly), steps_(file_of_rank("steps")) {
  if (assembly.telemetry() != nullptr) gpu_samples_.emplace(file_of_rank("gpu"));
  if (nvtx_wanted_in_timed_steps()) ranges_ = make_nvtx_ranges(nullptr);
  if (options.faults == nullptr) return;
  held_by_fault_ = options.faults->begin(assembly.memory(), assembly.context().ops);
  assembly.context().filter = options.faults;
  own_clock_ = options.faults->clock();
}

std::filesystem::path Instrumentation::file_of_rank(const char* name) const {
  return options_.dir / (std::string(name) + ".rank" + std::to_string(ranks_.rank) + ".jsonl");
}

std::int64_t Instrumentation::begin_steps(std::int64_t started_ns) {
  assembly_.context().set_trace(ranges_.get());
  const std::int64_t startup_ns = own_clock_ != nullptr ? own_clock_->startup_ns() : monotonic_ns() - started_ns;
  if (run_.traces()) tracer_.emplace(assembly_.context(), assembly_.trainer(), run_, assembly_.tracer());
  turns_.emplace(options_.turns, ranks_.rank);
  return startup_ns;
}

spec::StepRecord Instrumentation::step(std::int64_t number) {
  turns_->wait();
  const std::int64_t probe_ns =
      own_clock_ != nullptr ? own_clock_->probe_ns() : assembly_.probe_noise(options_.threads);
  assembly_.context().ops.reset_flops();
  assembly_.context().collectives.reset_traffic();
  if (gpu_samples_) assembly_.telemetry()->begin_step(number);
  auto record = tracer_ ? tracer_->timed_step(number) : assembly_.trainer().step(number);
  record.probe_ns = probe_ns;
  if (!gpu_samples_) return record;
  for (const auto& sample : assembly_.telemetry()->end_step()) gpu_samples_->append(spec::to_json_line(sample));
  return record;
}

void Instrumentation::write(const spec::StepRecord& record) {
  steps_.append(spec::to_json_line(record));
  if (record.traced == 0) return;
  assembly_.context().set_trace(ranges_.get());
  wait_for_all(ranks_);
}

void Instrumentation::end_steps() {
  turns_->wait();
}

void Instrumentation::trace_further_steps(std::int64_t first) {
  if (!tracer_) return;
  const auto problem = tracer_->finish(file_of_rank("trace"), first, run_.trace_steps);
  if (problem.empty()) return;
  std::fprintf(stderr, "perfbench-engine: rank %lld: the trace is incomplete: %s\n",
               static_cast<long long>(ranks_.rank), problem.c_str());
}

}  // namespace perfbench::engine
