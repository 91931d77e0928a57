// Runs the cells of a matrix: plans each, executes it as often as requested, leaves a run directory for every attempt
// and passes it to the store. A cell that crashes or hangs is a result; the sweep continues.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/execute/attempt_execution.h"
#include "harness/matrix/matrix.h"
#include "harness/records/running_sweep.h"

namespace perfbench::harness {

class Interruption;

enum class OnFailure { keep_going, stop };
enum class Scope { every_cell, unfinished_cells };  // unfinished_cells: --resume

struct SweepOptions {
  OnFailure on_failure = OnFailure::keep_going;
  Scope scope = Scope::every_cell;
  ExecutionSettings execution = {};
};

struct CellPlan {
  std::optional<std::string> infeasible;  // the reason why it cannot run
  double work = 0;  // FLOPs of the whole run on all ranks, for the estimate of the remaining time; 0: unknown
};

// The sweep that Scope::unfinished_cells continues.
struct ResumedSweep {
  std::string sweep_id;
  std::int64_t repeats = 0;   // for every cell; 0: as the cell says
  bool says_words = true;     // whether its attempts record the options with which it began (AttemptRecord::words)
  std::string obstacle = {};  // why nothing may be added to it; empty: there is no obstacle
  std::string note = {};      // a fact that the user should know when something is added
};

// The functions of planner and store that the sweep needs. Tests replace them.
struct SweepHooks {
  std::function<CellPlan(const Cell&)> plan;
  // Idempotent. Throws if it fails, and InputError if the directory cannot be understood. If an attempt that seemed to
  // be ok was stored as crashed because its records are damaged, returns why.
  std::function<std::string(const std::filesystem::path& attempt_dir)> store;
  // Number of attempts of that run, sweep and state in the store; throws if the store cannot be read.
  std::function<std::int64_t(const std::string& sweep_id, const std::string& run_id, AttemptState state)> stored;
  // Called once, after leftovers of an earlier sweep were stored. Empty: the sweep of SweepOptions::execution.
  std::function<ResumedSweep()> resumed = {};
  // Called when an attempt begins. Empty: nobody watches.
  std::function<void(const RunningSweep&)> progressed = {};
};

struct SweepSummary {
  std::string sweep_id;
  std::vector<FinishedAttempt> attempts;
  std::int64_t cells_already_done = 0;
  std::map<AttemptState, std::int64_t> states;
  bool cancelled = false;
  bool stopped_by_failure = false;                // because of OnFailure::stop
  std::vector<std::filesystem::path> not_stored;  // complete run directories that could not be stored
  std::string store_error;                        // the reason for the first of them
  std::string remote_end;  // why the machine that executed the attempts took no more of them; empty: it took all

  // Every attempt ended as expected: it was ok, or known in advance not to run.
  bool all_fine() const;
};

// Throws RunDirectoryError when evidence cannot be written, InputError if a resumed sweep has an obstacle.
SweepSummary run_sweep(const std::vector<Cell>& cells, const SweepOptions& options, const SweepHooks& hooks,
                       Interruption& interruption);

}  // namespace perfbench::harness
