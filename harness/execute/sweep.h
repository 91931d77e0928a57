// Runs the cells of a matrix: plans each, executes it as often as asked, leaves a run directory for every attempt and
// hands it to the store. A cell that crashes or hangs is a result; the sweep goes on.
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
  std::optional<std::string> infeasible;  // the reason
  double work = 0;                        // FLOPs of the whole run on all ranks, for the time left; 0: unknown
};

// The sweep that Scope::unfinished_cells goes on with.
struct ResumedSweep {
  std::string sweep_id;
  std::int64_t repeats = 0;   // of every cell; 0: as the cell says
  bool says_words = true;     // its attempts say with which words it was begun (AttemptRecord::words)
  std::string obstacle = {};  // why nothing may be added to it; empty: nothing is against it
  std::string note = {};      // what a person should know when something is added
};

// What the sweep needs from planner and store; free functions of other folders, or inventions of a test.
struct SweepHooks {
  std::function<CellPlan(const Cell&)> plan;
  // Idempotent; throws when it cannot, InputError when nothing can be known of the directory. Returns why an attempt
  // that seemed to be ok was taken in as crashed (its records are damaged), or nothing.
  std::function<std::string(const std::filesystem::path& attempt_dir)> store;
  // Attempts of that run in that sweep that the store holds in that state; throws when it cannot say.
  std::function<std::int64_t(const std::string& sweep_id, const std::string& run_id, AttemptState state)> stored;
  // Asked once, when the store has what an earlier sweep left behind. Empty: the sweep of SweepOptions::execution.
  std::function<ResumedSweep()> resumed = {};
};

struct SweepSummary {
  std::string sweep_id;
  std::vector<FinishedAttempt> attempts;
  std::int64_t cells_already_done = 0;
  std::map<AttemptState, std::int64_t> states;
  bool cancelled = false;
  bool stopped_by_failure = false;                // OnFailure::stop
  std::vector<std::filesystem::path> not_stored;  // complete run directories that the store did not take
  std::string store_error;                        // why, of the first

  // Every attempt ended as it should: ok, or known beforehand not to run.
  bool all_fine() const;
};

// Throws RunDirectoryError when evidence cannot be written, InputError where a resumed sweep has an obstacle.
SweepSummary run_sweep(const std::vector<Cell>& cells, const SweepOptions& options, const SweepHooks& hooks,
                       Interruption& interruption);

}  // namespace perfbench::harness
