// Compares two executions of a run: did the second one do what the first one recorded?
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/app/execution.h"
#include "harness/evidence/run_evidence.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {

// The first place at which two series of numbers differ, in the order of steps, then ranks.
struct NumberDifference {
  std::int64_t step = 0;
  std::int64_t rank = 0;
  std::string number;  // "loss", "grad_norm", "peak.total_bytes"
  double recorded = 0;
  double repeated = 0;
};

struct Reproduction {
  AttemptState recorded_state = AttemptState::ok;
  AttemptState repeated_state = AttemptState::ok;
  std::int64_t recorded_steps = 0;  // of all ranks together
  std::int64_t repeated_steps = 0;
  // In loss, gradient norm and peak memory, bit by bit: the same seed gives the same bits, at any speed.
  std::optional<NumberDifference> first_difference;
  std::vector<spec::FieldDifference> environment;  // facts that differ: the recorded value, then the repeated one
  std::optional<double> recorded_step_time_s;      // medians of the steady steps
  std::optional<double> repeated_step_time_s;

  bool reproduced() const {
    return recorded_state == repeated_state && recorded_steps == repeated_steps && !first_difference;
  }
};

// Both must have the same run id. If a run was interrupted, the common steps are compared.
Reproduction hold_against(const RunEvidence& recorded, const RunEvidence& repeated);

// Executes a recorded run once more, and compares the result with the record.
class Interruption;

struct ReproduceRequest {
  std::string recorded;             // a folder or a name (run_name.h); of a run, its newest attempt
  std::filesystem::path runs = {};  // for the new attempt; empty: the folder of the recorded run
  std::filesystem::path db =
      {};  // also for names; empty: the new attempt is not stored, and names are looked up in perf.db
  ExecutionOptions execution = {};
};

struct ReproduceOutcome {
  std::filesystem::path recorded;  // folder of the attempt
  std::filesystem::path repeated;
  std::vector<std::string> faults = {};  // injected into both runs
  Reproduction found;
  std::string store_error;  // why the new attempt is not in the database; empty: it is, or should not be
  bool cancelled = false;   // then nothing else is filled in
};

// Uses the number of threads of the recorded run and its injected faults. Throws InputError for a run that was
// interrupted or never executed, and if the engine that can inject faults is missing.
ReproduceOutcome reproduce_run(const ReproduceRequest& request, const Installation& installation,
                               Interruption& interruption);

}  // namespace perfbench::harness
