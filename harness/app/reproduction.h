// Two executions of one run held against each other: did the second do what the first recorded?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace perfbench::harness
