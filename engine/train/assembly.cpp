#include "engine/train/assembly.h"

#include <utility>

#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

PhaseClock clock_of(const Backend& backend, const std::function<std::int64_t()>& own) {
  if (own) return PhaseClock(own);
  return backend.timeline ? PhaseClock(backend.timeline.get()) : PhaseClock();
}

}  // namespace

Assembly::Assembly(const spec::RunSpec& run, Backend backend, Options options)
    : backend_(std::move(backend)),
      memory_(std::move(backend_.device_memory), std::move(backend_.host_memory), options.memory),
      data_(std::move(options.data)),
      clock_(clock_of(backend_, options.clock)),
      context_{*backend_.ops, memory_, *backend_.collectives, clock_, compute_dtype(run.precision)},
      trainer_(context_, run, options.init.value_or(init_rule(run)), data_.tokens.get(), data_.evaluation.get()) {
  if (options.clock) backend_.collectives->set_clock(std::move(options.clock));
}

}  // namespace perfbench::engine
