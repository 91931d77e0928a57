// Attempts in groups that correspond to a row of a table or a side of a comparison: all executions of one run by one
// subject.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/records/stored_attempt.h"
#include "harness/stats/decision.h"
#include "harness/stats/verdict.h"

namespace perfbench::harness {

struct CellRuns {
  std::string matrix;
  std::string label;
  std::string run_id;
  Subject subject = {};
  std::vector<StoredAttempt> attempts;  // in the order of their start; never empty

  const spec::RunSpec& run() const { return *attempts.front().run; }
  std::vector<const StoredAttempt*> finished() const;  // state ok
  // The finished attempts with a steady noise probe, or all finished ones if no attempt has one.
  std::vector<const StoredAttempt*> trusted() const;
  // The newest attempt that took all its steps, if it diverged. An engine that was repaired later is not blamed.
  const StoredAttempt* diverged() const;
  std::string machine() const;  // fingerprint of the first attempt that has one; empty if none has
  // Facts of the newest finished attempt or, if none finished, of the newest attempt; empty if no engine reported them.
  const std::map<std::string, std::string>& environment() const;
};

// Sorted by run in the order of their first attempts, and within a run by subject in the same order.
std::vector<CellRuns> group_by_subject(const std::vector<StoredAttempt>& attempts);

// The subjects of these cells without duplicates.
std::vector<Subject> subjects_of(const std::vector<CellRuns>& cells);

// Splits each cell's attempts by machine (machine_fingerprint), in the order of their first attempts, because numbers
// of two machines are two samples. Attempts of unknown machines stay with the first machine.
std::vector<CellRuns> split_by_machine(const std::vector<CellRuns>& cells);

// Whether the noise probe moved during this attempt (harness/stats/steady.h).
bool probe_moved(const StoredAttempt& attempt);

// step_time_mean_s. An attempt stored by a version without it has step_time_s, from which its rates were computed at
// that time.
std::optional<double> mean_step_time_s(const StoredAttempt& attempt);

// One value of `metric` for each finished attempt, with its sweep. Values of attempts whose probe moved are kept
// separate, except for amounts that do not depend on the machine's speed (memory, loss).
Sample sample_of(const CellRuns& cell, const std::string& metric);

// A baseline belongs to one subject (harness/records/subject.h). A selection with several subjects is refused, and the
// message lists them. Both functions consider only attempts that ended ok, because others have no figures, and throw
// InputError. `what` begins the message: "[compare] 'all'". `asked` is the text behind which a user may select one
// subject with an @; empty: no selection is possible.

// Refuses a run that has several subjects on one machine.
void refuse_mixed_runs(const std::vector<CellRuns>& cells, const std::string& what, const std::string& asked);

// Also refuses several engines, faults or sides among the runs of one machine. The libraries of two runs may differ,
// because not every run loads all of them.
void refuse_mixed_baseline(const std::vector<CellRuns>& cells, const std::string& what, const std::string& asked);

// The decision about a cell that gave no value to compare. REGRESSED, in every metric, for a cell whose newest run that
// took all its steps diverged. Call it only if the other side has the value that this one lost.
std::optional<Decision> diverged_now(const CellRuns& cell);

// Why there is no value of `metric`: "no run of it is ok: diverged: the loss became NaN at step 3". Empty if a run has
// a value above 0.
std::string why_no_value(const CellRuns& cell, const std::string& metric);

}  // namespace perfbench::harness
