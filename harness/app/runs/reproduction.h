// Two executions of one run held against each other: did the second do what the first recorded?
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

// Where two series of numbers part for the first time, in the order of steps, then ranks.
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
  // Of loss, gradient norm and peak memory, bit by bit: the same seed gives the same bits, whatever the speed.
  std::optional<NumberDifference> first_difference;
  std::vector<spec::FieldDifference> environment;  // facts that differ, recorded then repeated
  std::optional<double> recorded_step_time_s;      // medians of the steady steps
  std::optional<double> repeated_step_time_s;

  bool reproduced() const {
    return recorded_state == repeated_state && recorded_steps == repeated_steps && !first_difference;
  }
};

// Both of one run_id. Where a run was cut off, the steps that both have are held against each other.
Reproduction hold_against(const RunEvidence& recorded, const RunEvidence& repeated);

// A recorded run executed once more, and held against what it recorded.
class Interruption;

struct ReproduceRequest {
  std::string recorded;             // a folder or a name (run_name.h); of a run its newest attempt
  std::filesystem::path runs = {};  // of the new attempt; empty: where the recorded run is
  std::filesystem::path db = {};    // of names too; empty: the new attempt is in none, and names are of perf.db
  ExecutionOptions execution = {};
};

struct ReproduceOutcome {
  std::filesystem::path recorded;  // the attempt's folder
  std::filesystem::path repeated;
  std::vector<std::string> faults = {};  // injected into both
  Reproduction found;
  std::string store_error;  // why the new attempt is not in the database; empty: it is, or was not to be
  bool cancelled = false;   // nothing else is filled then
};

// With the threads that the run had, and with the faults that were injected into it. Throws InputError for a run that
// was cut off, or was never executed, and where the engine that takes faults is not there.
ReproduceOutcome reproduce_run(const ReproduceRequest& request, const Installation& installation,
                               Interruption& interruption);

}  // namespace perfbench::harness
