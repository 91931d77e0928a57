// Attempts grouped into what a table's row and a comparison are about: all executions of one run by one subject.
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
  std::vector<StoredAttempt> attempts;  // in the order in which they were started; never empty

  const spec::RunSpec& run() const { return *attempts.front().run; }
  std::vector<const StoredAttempt*> finished() const;  // state ok
  // Of the finished, those whose noise probe stood still; all of them if it never did.
  std::vector<const StoredAttempt*> trusted() const;
  // The newest attempt that took all its steps, if it diverged: an engine that was mended since is not blamed.
  const StoredAttempt* diverged() const;
  std::string machine() const;  // fingerprint of the first attempt that has one; empty without
  // Facts of the newest finished attempt, or of the newest at all where none is; empty where no engine told them.
  const std::map<std::string, std::string>& environment() const;
};

// By run in the order of their first attempts, and those of a run by subject in the same order.
std::vector<CellRuns> group_by_subject(const std::vector<StoredAttempt>& attempts);

// The subjects of these cells, each once.
std::vector<Subject> subjects_of(const std::vector<CellRuns>& cells);

// Each cell's attempts apart by machine (machine_fingerprint), in the order of their first attempts: numbers of two
// machines are two samples. Attempts of unknown machines stay with the first.
std::vector<CellRuns> split_by_machine(const std::vector<CellRuns>& cells);

// The noise probe moved during this attempt (harness/stats/steady.h).
bool probe_moved(const StoredAttempt& attempt);

// step_time_mean_s; of an attempt that was stored before there was one step_time_s, which its rates were made of then.
std::optional<double> mean_step_time_s(const StoredAttempt& attempt);

// One value of `metric` per finished attempt, with the sweep that it is of; those of attempts whose probe moved are
// kept apart, except of amounts that the machine's speed does not change (memory, loss).
Sample sample_of(const CellRuns& cell, const std::string& metric);

// A baseline is of one subject (harness/records/subject.h). What mixes several is refused, with the list of them.
// Both look at attempts that ended ok, because no others give a figure, and throw InputError. `what` begins the
// message: "[compare] 'all'". `asked` is what a person may name one subject of with an @ behind it; empty: nothing.

// Refuses a run that has several subjects on one machine.
void refuse_mixed_runs(const std::vector<CellRuns>& cells, const std::string& what, const std::string& asked);

// Refuses that too, and several engines, faults or sides among the runs of one machine. Libraries of two runs may
// differ, because not every run loads all of them.
void refuse_mixed_baseline(const std::vector<CellRuns>& cells, const std::string& what, const std::string& asked);

// What a comparison says of a cell that gave no value to compare.
// REGRESSED, of whatever metric, for a cell whose newest run that took all its steps lost its loss. To be asked where
// the other side has what this one lost.
std::optional<Decision> diverged_now(const CellRuns& cell);

// Why nothing can be made of `metric`: "no run of it is ok: diverged: the loss became NaN at step 3". Empty where a run
// has a value above 0.
std::string why_no_value(const CellRuns& cell, const std::string& metric);

}  // namespace perfbench::harness
