#include "harness/app/runs/traced_roofline.h"

#include <fmt/core.h>

#include <stdexcept>

#include "harness/evidence/attempt.h"
#include "harness/evidence/run_directory.h"
#include "harness/execute/process.h"
#include "harness/judge/cell_mfu.h"
#include "harness/matrix/model_catalog.h"
#include "harness/plan/dry_engine.h"
#include "harness/system/files.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

std::string why_no_answer(const ProcessEnd& ended) {
  constexpr std::size_t kLongest = 500;
  if (ended.cause == EndCause::time_limit) return "the engine did not count the operations in time";
  return fmt::format("the engine did not count the operations: {}", ended.signal != 0
                                                                        ? fmt::format("signal {}", ended.signal)
                                                                        : ended.error_output.substr(0, kLongest));
}

// Throws std::runtime_error with the reason.
spec::DryOperations count_with_engine(const EngineProgram& engine, const spec::RunSpec& run, std::int64_t rank) {
  const TemporaryFolder folder("perfbench-operations");
  const auto file = folder.path() / kRunFile;
  write_atomically(file, spec::canonical_json(run));
  auto request = engine.request({"dry", "--operations", "--rank", std::to_string(rank), file.string()});
  request.largest_file_bytes = kLimitsOfAPage.output_bytes;
  const auto ended = run_process(request, {.time_limit = kLimitsOfAPage.time});
  if (!ended.succeeded()) throw std::runtime_error(why_no_answer(ended));
  auto out = spec::parse_dry_operations(ended.output);
  if (!out.feasible) throw std::runtime_error(out.reason);
  return out;
}

std::optional<DevicePeaks> peaks_of(const std::optional<spec::EnvironmentRecord>& environment, const spec::RunSpec& run,
                                    const Installation& installation) {
  const auto name = hardware_name(run, {{"gpu_model", environment ? environment->gpu_model : ""}});
  if (name == "host") {
    if (!environment || environment->peak_flops_per_s <= 0 || run.device != spec::Device::cpu) return std::nullopt;
    return DevicePeaks{.name = environment->cpu_model, .flops_per_s = environment->peak_flops_per_s};
  }
  try {
    const auto hardware = ModelCatalog(installation.data_dir()).hardware(name);
    return DevicePeaks{.name = hardware.title,
                       .flops_per_s = spec::mfu_peak_flops_per_s(hardware, run.precision),
                       .bytes_per_s = hardware.memory_bytes_per_s};
  } catch (const spec::SpecError&) {  // there is no file of this device
    return std::nullopt;
  }
}

}  // namespace

std::optional<TracedRoofline> roofline_of(const TracedRun& traced, const Installation& installation) {
  const auto& run = traced.run;
  if (!run || run->program) return std::nullopt;
  const auto& trace = traced.traces.front();
  TracedRoofline out{.rank = trace.rank};
  if (trace.end.dropped_records > 0) {
    out.missing = "records of the trace were dropped, so that the times of operations are too small";
    return out;
  }
  try {
    out.rates = operation_rates(trace, count_with_engine({installation.engine}, *run, trace.rank));
    out.peaks = peaks_of(traced.environment, *run, installation);
  } catch (const std::runtime_error& e) {
    out.missing = e.what();
  }
  return out;
}

}  // namespace perfbench::harness
