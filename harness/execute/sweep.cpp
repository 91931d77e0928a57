#include "harness/execute/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <set>

#include "harness/evidence/run_directory.h"
#include "harness/evidence/run_evidence.h"
#include "harness/execute/interruption.h"
#include "harness/execute/progress.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// nullopt for an attempt that was interrupted or whose record is damaged; it does not count.
std::optional<AttemptRecord> recorded(const fs::path& attempt_dir) {
  try {
    return read_attempt(attempt_dir);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// One attempt to make.
struct Task {
  const Cell* cell = nullptr;
  CellPlan plan;
};

bool is_failure(AttemptState state) {
  return state != AttemptState::ok && state != AttemptState::infeasible && state != AttemptState::excluded;
}

class Sweep {
 public:
  Sweep(const SweepOptions& options, const SweepHooks& hooks, Interruption& interruption)
      : options_(options), hooks_(hooks), interruption_(interruption) {
    options_.execution.cancel_fd = interruption.fd();
  }

  SweepSummary run(const std::vector<Cell>& cells) {
    const auto resumed = resume(cells);
    summary_.sweep_id = options_.execution.sweep_id;
    const auto tasks = list_tasks(cells);
    if (!tasks.empty() && !resumed.obstacle.empty()) throw InputError(resumed.obstacle);
    SweepProgress progress(stderr, SweepProgress::style_of(stderr), progress_items(tasks));
    if (summary_.cells_already_done > 0) {
      progress.say(fmt::format("{} of {} cells are already done", summary_.cells_already_done, cells.size()));
    }
    if (!tasks.empty() && !resumed.note.empty()) progress.say(resumed.note);
    for (const auto& note : leftover_notes_) progress.say("not stored in the database: " + note);
    try {
      announce(tasks);
      attempt_all(tasks, progress);
    } catch (const RemoteEnd& e) {
      summary_.remote_end = e.what();
      progress.say(summary_.remote_end);
    }
    return std::move(summary_);
  }

 private:
  ResumedSweep resume(const std::vector<Cell>& cells) {
    if (options_.scope == Scope::every_cell) return {};
    store_leftovers(cells);
    if (!hooks_.resumed) return {};
    auto resumed = hooks_.resumed();
    options_.execution.sweep_id = resumed.sweep_id;
    options_.execution.repeats = resumed.repeats;
    if (!resumed.says_words) options_.execution.words.reset();
    return resumed;
  }

  // Stores run directories that were complete when their sweep was killed.
  void store_leftovers(const std::vector<Cell>& cells) {
    std::set<std::string> seen;
    for (const auto& cell : cells) {
      if (!seen.insert(cell.run_id).second) continue;
      for (const auto& attempt : list_attempts(options_.execution.runs, cell.run_id)) {
        if (recorded(attempt.path)) store_leftover(attempt.path);
      }
    }
  }

  // A damaged directory does not count: its cell is executed again.
  void store_leftover(const fs::path& directory) {
    try {
      hooks_.store(directory);
    } catch (const InputError& e) {
      leftover_notes_.emplace_back(e.what());
    } catch (const std::exception& e) {
      note_store_error(e.what());
      summary_.not_stored.push_back(directory);
    }
  }

  // All first attempts, then all second ones. So repeats of a cell are spread over time, and a slow quarter of an hour
  // of the machine does not hit only one cell.
  std::vector<Task> list_tasks(const std::vector<Cell>& cells) {
    std::vector<Task> tasks;
    std::vector<std::pair<Task, std::int64_t>> open;
    for (const auto& cell : cells) {
      const Task task{&cell, cell.excluded ? CellPlan{} : hooks_.plan(cell)};
      const auto missing = attempts_missing(task);
      if (missing == 0) ++summary_.cells_already_done;
      if (missing > 0) open.emplace_back(task, missing);
      if (cancelled()) return {};
    }
    for (std::int64_t round = 0; !open.empty(); ++round) {
      for (const auto& [task, missing] : open) {
        if (round < missing) tasks.push_back(task);
      }
      std::erase_if(open, [round](const auto& entry) { return entry.second <= round + 1; });
    }
    return tasks;
  }

  std::int64_t attempts_missing(const Task& task) {
    const auto& cell = *task.cell;
    const auto final_state = cell.excluded          ? AttemptState::excluded
                             : task.plan.infeasible ? AttemptState::infeasible
                                                    : AttemptState::ok;
    const auto repeats = options_.execution.repeats > 0 ? options_.execution.repeats : cell.repeats;
    const std::int64_t wanted = final_state == AttemptState::ok ? repeats : 1;
    if (options_.scope == Scope::every_cell) return wanted;
    return std::max<std::int64_t>(0, wanted - attempts_in(cell.run_id, final_state));
  }

  // Counts only attempts of this sweep: those of another sweep may be from another engine, or may be meant for a
  // comparison with these. Asks the store or, if it cannot be read, looks at the run directories.
  std::int64_t attempts_in(const std::string& run_id, AttemptState state) {
    try {
      return hooks_.stored(options_.execution.sweep_id, run_id, state);
    } catch (const std::exception& e) {
      note_store_error(e.what());
    }
    const auto directories = list_attempts(options_.execution.runs, run_id);
    return std::count_if(directories.begin(), directories.end(), [&](const auto& directory) {
      const auto record = recorded(directory.path);
      return record && record->state == state && record->sweep_id == options_.execution.sweep_id;
    });
  }

  static std::vector<SweepProgress::Item> progress_items(const std::vector<Task>& tasks) {
    const bool work_known =
        std::all_of(tasks.begin(), tasks.end(), [](const Task& t) { return !runs(t) || t.plan.work > 0; });
    std::vector<SweepProgress::Item> items;
    items.reserve(tasks.size());
    for (const auto& task : tasks) {
      const double work = !runs(task) ? 0 : work_known ? task.plan.work : 1;
      const auto& run = task.cell->run;
      items.push_back({task.cell->label, work, run.program ? run.program->spec.steps : run.steps});
    }
    return items;
  }

  void give_sign(const std::vector<Task>& tasks, std::size_t index, const SweepProgress& progress) const {
    if (!hooks_.progressed) return;
    const auto& cell = *tasks[index].cell;
    constexpr double kLongest = 1e9;  // a date has four digits for its year
    const double left_s = std::min(progress.left_s(), kLongest);
    const std::chrono::seconds left(std::llround(left_s));
    hooks_.progressed({.sweep_id = summary_.sweep_id,
                       .matrix = cell.matrix,
                       .begun_utc = begun_utc_,
                       .sign_utc = utc_now(),
                       .expected_end_utc = left_s < 0 ? "" : utc_in(left),
                       .attempts = std::ssize(tasks),
                       .finished = static_cast<std::int64_t>(index),
                       .cell = cell.label});
  }

  static bool runs(const Task& task) { return !task.cell->excluded && !task.plan.infeasible; }

  void announce(const std::vector<Task>& tasks) {
    if (options_.execution.remote == nullptr || tasks.empty()) return;
    std::vector<const Cell*> cells;
    for (const auto& task : tasks) {
      if (runs(task)) cells.push_back(task.cell);
    }
    options_.execution.remote->announce(cells, options_.execution);
  }

  void attempt_all(const std::vector<Task>& tasks, SweepProgress& progress) {
    for (std::size_t i = 0; i < tasks.size() && !must_stop(); ++i) {
      progress.begin(i);
      give_sign(tasks, i, progress);
      auto finished = attempt(tasks[i], progress);
      store(finished, progress);
      progress.end(finished.record);
      account(finished, progress);
    }
  }

  FinishedAttempt attempt(const Task& task, SweepProgress& progress) {
    const auto& cell = *task.cell;
    const auto& settings = options_.execution;
    if (cell.excluded) return record_without_execution(cell, settings, AttemptState::excluded, *cell.excluded);
    if (task.plan.infeasible) {
      return record_without_execution(cell, settings, AttemptState::infeasible, *task.plan.infeasible);
    }
    return execute_attempt(cell, settings, [&progress](std::int64_t steps) { progress.steps(steps); });
  }

  void account(const FinishedAttempt& finished, SweepProgress& progress) {
    const auto state = finished.record.state;
    ++summary_.states[state];
    if (finished.cancel_seen) summary_.cancelled = true;
    if (is_failure(state)) progress.say("    log: " + (finished.directory / kLogFile).string());
    if (is_failure(state) && options_.on_failure == OnFailure::stop) summary_.stopped_by_failure = true;
    summary_.attempts.push_back(finished);
  }

  void store(FinishedAttempt& finished, SweepProgress& progress) {
    const bool first_trouble = summary_.store_error.empty();
    try {
      const auto spoiled = hooks_.store(finished.directory);
      if (!spoiled.empty()) {
        finished.record.state = AttemptState::crashed;
        finished.record.reason = spoiled;
      }
    } catch (const std::exception& e) {
      note_store_error(e.what());
      summary_.not_stored.push_back(finished.directory);
    }
    if (first_trouble && !summary_.store_error.empty()) {
      progress.say(summary_.store_error + "\n    the sweep continues; its run directories are complete");
    }
  }

  void note_store_error(const std::string& error) {
    if (summary_.store_error.empty()) summary_.store_error = error;
  }

  bool cancelled() {
    // A remote execution takes the signal itself, so that it can ask whether to cancel its jobs.
    if (options_.execution.remote == nullptr && interruption_.take()) summary_.cancelled = true;
    return summary_.cancelled;
  }

  bool must_stop() { return cancelled() || summary_.stopped_by_failure; }

  SweepOptions options_;
  const SweepHooks& hooks_;
  Interruption& interruption_;
  const std::string begun_utc_ = utc_now();
  SweepSummary summary_;
  std::vector<std::string> leftover_notes_;
};

}  // namespace

bool SweepSummary::all_fine() const {
  return !cancelled && store_error.empty() && remote_end.empty() &&
         std::none_of(states.begin(), states.end(), [](const auto& entry) { return is_failure(entry.first); });
}

SweepSummary run_sweep(const std::vector<Cell>& cells, const SweepOptions& options, const SweepHooks& hooks,
                       Interruption& interruption) {
  return Sweep(options, hooks, interruption).run(cells);
}

}  // namespace perfbench::harness
