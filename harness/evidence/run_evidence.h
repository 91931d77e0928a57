// What steps.rank<R>.jsonl of a run directory say of the run's losses and gradients (workloads/spec/finiteness.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/evidence/attempt.h"
#include "workloads/spec/environment.h"
#include "workloads/spec/finiteness.h"
#include "workloads/spec/gpu_sample.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_summary.h"
#include "workloads/spec/step_record.h"

namespace perfbench::harness {

// Of all ranks. A line that is cut off or damaged says nothing here: ingest names it.
spec::Finiteness finiteness_of_steps(const std::filesystem::path& directory, std::int64_t ranks);

// gpu.rank<R>.jsonl of a run directory (workloads/spec/gpu_sample.h).
struct GpuSamples {
  std::vector<spec::GpuSample> samples;  // by rank, in the order of the file
  std::int64_t unreadable_lines = 0;     // cut off, or damaged: left out
};

// Of all ranks; none for a run on CPUs. Samples are circumstances: a damaged line costs no more than itself, and a file
// that cannot be read counts as one.
GpuSamples read_gpu_samples(const std::filesystem::path& directory, std::int64_t ranks);

// A run directory (layout: harness/evidence/attempt.h) read and checked.
struct RunEvidence {
  AttemptRecord attempt;      // as it is judged today: see read_run_directory
  std::string record_sha256;  // of attempt.json as it was written
  spec::RunSpec run;
  std::string run_json;                                // canonical
  std::optional<spec::EnvironmentRecord> environment;  // absent: the engine did not get that far
  std::optional<spec::RunSummary> summary;             // absent after a crash
  std::vector<spec::StepRecord> steps;                 // by rank, then step
  std::int64_t lost_step_lines = 0;                    // last lines that were cut off
  std::vector<spec::GpuSample> gpu_samples;            // none on CPUs
  std::vector<std::string> damage;                     // of files that are left out, or in part: "env.json is empty"
  AttemptState recorded_state = AttemptState::ok;      // as attempt.json says it
};

// run.json as it is. Unlike spec::parse_run_json it takes a run that contradicts itself: such a run is recorded as
// infeasible, and its run.json is evidence too. Throws spec::SpecError.
spec::RunSpec parse_recorded_run(std::string_view text);

// attempt.json alone. Nothing for a folder without it. Throws InputError.
std::optional<AttemptRecord> read_attempt(const std::filesystem::path& directory);

// SHA-256 of the canonical attempt.json.
std::string record_digest(const AttemptRecord& attempt);

// Nothing for a folder without attempt.json: its attempt was cut off and will be executed again.
//
// A power cut, a full disk or a hostile engine leaves files that are cut off, empty, or no files at all. What they
// would have said is left out, and attempt.state and attempt.reason are changed to say so: an attempt that is recorded
// as ok is a crashed one. One whose loss was lost is `diverged`, as one of today would be. Throws InputError,
// "[ingest] file:line what is wrong", where nothing can be known (attempt.json or run.json damaged, a run.json that is
// not the run's), and where a file of an attempt that ended well is whole and means something else: unknown keys, a
// step twice.
std::optional<RunEvidence> read_run_directory(const std::filesystem::path& directory);

}  // namespace perfbench::harness
