// A run as a list has it, and which of them may be wanted.
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
  std::int64_t finished = 0;  // of them, state ok
  std::string matrix;
  std::string cell;
  std::map<std::string, std::string> axes;
  AttemptState state = AttemptState::ok;  // ok if any of them is, else of the newest
  std::string started_utc;                // of the newest
  Subject subject;
  std::string git_commit;                // of the newest that has an environment; empty: none has
  std::string machine;                   // its machine_class (environment_rows.h); empty: none has
  std::optional<double> step_time_s;     // median of the finished attempts' step_time_s
  std::string sweep_id;                  // empty: outside a sweep
  SweepKind kind = SweepKind::imported;  // of the sweep
  std::vector<std::string> tags;         // of the run and of these attempts, by name
};

// Which runs may be wanted, by a part of what they are, so that not all have to be read for a few. Each is asked with
// that part alone, the rest as it is made; an empty one wants all.
struct RunFilter {
  using MayBe = std::function<bool(const ListedRun&)>;
  MayBe cell;         // run_id, matrix, cell, axes
  MayBe sweep;        // sweep_id, kind; started_utc: of its first attempt, no run of it is earlier
  MayBe environment;  // git_commit, machine, both of one environment, or empty
  MayBe all_ok;       // finished and attempts are equal, state is ok
  MayBe untagged;     // tags are empty
};

}  // namespace perfbench::harness
