// A run directory (layout: harness/run/attempt.h) read and checked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/run/attempt.h"
#include "workloads/spec/environment.h"
#include "workloads/spec/gpu_sample.h"
#include "workloads/spec/record.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {

struct RunEvidence {
  AttemptRecord attempt;
  spec::RunSpec run;
  std::string run_json;                                // canonical
  std::optional<spec::EnvironmentRecord> environment;  // absent: the engine did not get that far
  std::optional<spec::RunSummary> summary;             // absent after a crash
  std::vector<spec::StepRecord> steps;                 // by rank, then step
  std::int64_t lost_step_lines = 0;                    // last lines that were cut off
  std::vector<spec::GpuSample> gpu_samples;            // none on CPUs
};

// run.json as it is. Unlike spec::parse_run_json it takes a run that contradicts itself: such a run is recorded as
// infeasible, and its run.json is evidence too. Throws spec::SpecError.
spec::RunSpec parse_recorded_run(std::string_view text);

// attempt.json alone. Nothing for a folder without it. Throws InputError.
std::optional<AttemptRecord> read_attempt_record(const std::filesystem::path& directory);

// SHA-256 of the canonical attempt.json: tells a repeated record from a contradicting one.
std::string record_digest(const AttemptRecord& attempt);

// Nothing for a folder without attempt.json: its attempt was cut off and will be executed again. Throws InputError,
// "[ingest] file:line what is wrong", for contents that cannot be: not our JSON, a run.json that is not the run's, a
// step twice, an `ok` attempt without steps.
std::optional<RunEvidence> read_run_directory(const std::filesystem::path& directory);

}  // namespace perfbench::harness
