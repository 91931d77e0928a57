// The steps.rank<R>.jsonl files of a run directory show whether losses and gradients stayed finite
// (workloads/spec/finiteness.h).
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
#include "workloads/spec/program_result.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_summary.h"
#include "workloads/spec/sample.h"
#include "workloads/spec/step_record.h"

namespace perfbench::harness {

// Over all ranks. Skips lines that are cut off or damaged: ingest reports them.
spec::Finiteness finiteness_of_steps(const std::filesystem::path& directory, std::int64_t ranks);

// gpu.rank<R>.jsonl of a run directory (workloads/spec/gpu_sample.h).
struct GpuSamples {
  std::vector<spec::GpuSample> samples;  // by rank, in the order of the file
  std::int64_t unreadable_lines = 0;     // cut off or damaged, and left out
};

// The samples of all ranks; empty for a run on CPUs. Samples only describe circumstances: a damaged line costs no more
// than itself, and an unreadable file counts as one damaged line.
GpuSamples read_gpu_samples(const std::filesystem::path& directory, std::int64_t ranks);

// A run directory (layout: harness/evidence/attempt.h), read and checked.
struct RunEvidence {
  AttemptRecord attempt;      // as it is judged today: see read_run_directory
  std::string record_sha256;  // SHA-256 of attempt.json as it was written
  spec::RunSpec run;
  std::string run_json;                                // canonical
  std::optional<spec::EnvironmentRecord> environment;  // nullopt if the engine did not get that far
  std::optional<spec::RunSummary> summary;             // nullopt after a crash
  std::vector<spec::StepRecord> steps;                 // by rank, then step
  std::int64_t lost_step_lines = 0;                    // last lines that were cut off
  std::vector<spec::GpuSample> gpu_samples;            // empty on CPUs
  std::optional<spec::ProgramResult> program_result;   // of a program, instead of `summary`
  std::vector<spec::Sample> samples;                   // of a program, instead of `steps`, in the order of arrival
  std::vector<std::string> damage;  // the files that are left out, wholly or in part: "env.json is empty"
  AttemptState recorded_state = AttemptState::ok;  // the state in attempt.json
};

// Reads only attempt.json. nullopt for a folder without it. Throws InputError.
std::optional<AttemptRecord> read_attempt(const std::filesystem::path& directory);

// SHA-256 of the canonical attempt.json.
std::string record_digest(const AttemptRecord& attempt);

// Returns nullopt for a folder without attempt.json: its attempt was interrupted and will be executed again.
//
// A power cut, a full disk or a hostile engine leaves files that are cut off, empty or missing. Their content is left
// out, and attempt.state and attempt.reason say so: an attempt that was recorded as ok becomes a crashed one. An
// attempt whose loss stopped being finite becomes `diverged`, as it would today.
//
// Throws InputError, "[ingest] file:line what is wrong", in two cases. First, where nothing can be known: attempt.json
// or run.json is damaged, or run.json belongs to another run. Second, where a file of an attempt that ended well is
// whole and has the wrong content, such as unknown keys or a step twice.
std::optional<RunEvidence> read_run_directory(const std::filesystem::path& directory);

}  // namespace perfbench::harness
