// A run as a list shows it, and a filter for runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/records/subject.h"

namespace perfbench::harness {

// The attempts of one run by one subject in one sweep.
struct ListedRun {
  std::string run_id;
  std::int64_t attempts = 0;
  std::int64_t finished = 0;  // attempts with state ok
  std::string matrix;
  std::string cell;
  std::map<std::string, std::string> axes;
  AttemptState state = AttemptState::ok;  // ok if any attempt is ok, otherwise the state of the newest
  std::string started_utc;                // of the newest attempt
  Subject subject;
  std::string git_commit;                // of the newest attempt with an environment; empty: none has one
  std::string machine;                   // its machine_class (environment_rows.h); empty: unknown
  std::optional<double> step_time_s;     // median step_time_s of the finished attempts
  std::string sweep_id;                  // empty: outside a sweep
  SweepKind kind = SweepKind::imported;  // kind of the sweep
  std::vector<std::string> tags;         // tags of the run and of these attempts, by name
};

// Preselects runs by some of their fields, so that a query reads few of them. Each predicate sees only its fields; the
// rest has default values. An empty predicate accepts all runs.
struct RunFilter {
  using MayBe = std::function<bool(const ListedRun&)>;
  MayBe cell;         // run_id, matrix, cell, axes
  MayBe sweep;        // sweep_id, kind, and started_utc of the sweep's first attempt (no run of it is earlier)
  MayBe environment;  // git_commit and machine, both from one environment, or empty
  MayBe all_ok;       // finished and attempts are equal, state is ok
  MayBe untagged;     // tags are empty
};

}  // namespace perfbench::harness
