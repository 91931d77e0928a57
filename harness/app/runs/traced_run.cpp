#include "harness/app/runs/traced_run.h"

#include <fmt/core.h>

#include <utility>

#include "harness/evidence/evidence_file.h"
#include "harness/evidence/run_directory.h"
#include "harness/evidence/run_evidence.h"
#include "harness/system/input_error.h"
#include "harness/trace/step_split.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;

namespace {

std::optional<spec::RunSpec> run_of(const fs::path& folder) {
  try {
    return read_document(folder / kRunFile, spec::parse_recorded_run);
  } catch (const DamagedFile& e) {
    throw InputError(fmt::format("[trace] {}/{}", folder.string(), e.what()));
  } catch (const spec::SpecError& e) {
    throw InputError(fmt::format("[trace] {} {}: {}", (folder / kRunFile).string(), e.pointer(), e.what()));
  }
}

template <class Parse>
auto readable(const fs::path& file, const Parse& parse) -> decltype(read_document(file, parse)) {
  try {
    return read_document(file, parse);
  } catch (const DamagedFile&) {
    return std::nullopt;
  } catch (const spec::SpecError&) {
    return std::nullopt;
  }
}

}  // namespace

TracedRun read_traced_run(const fs::path& folder) {
  TracedRun out{.folder = folder,
                .run = run_of(folder),
                .attempt = readable(folder / kAttemptFile, parse_attempt),
                .environment = readable(folder / kEnvironmentFile, spec::parse_environment)};
  out.traces = read_traces(folder, out.run ? std::optional(out.run->mesh.devices()) : std::nullopt);
  if (out.traces.empty()) {
    throw InputError(
        fmt::format("[trace] {} has no {}: its run traced no steps; set trace_steps or profile in the matrix, or run "
                    "`perfbench sweep FILE --set trace_steps=2`",
                    folder.string(), trace_file(0)));
  }
  return out;
}

TraceDifference hold_traces_side_by_side(const std::vector<RankTrace>& before, const std::vector<RankTrace>& after) {
  auto parts = attribute({split_steps(before)}, {split_steps(after)});
  auto operations = align_steps(before, after);
  if (!parts || !operations) throw InputError("[trace] a trace without a step cannot be compared");
  return {.parts = std::move(*parts), .operations = std::move(*operations)};
}

}  // namespace perfbench::harness
