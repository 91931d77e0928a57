// What a store holds, a row for each run of a sweep: what `perfbench list` shows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

// The attempts of one run in one sweep.
struct ListedRun {
  std::string run_id;
  std::int64_t attempts = 0;
  std::int64_t finished = 0;  // of them, state ok
  std::string matrix;
  std::string cell;
  std::map<std::string, std::string> axes;
  AttemptState state = AttemptState::ok;  // ok if any of them is, else of the newest
  std::string started_utc;                // of the newest
  std::string git_commit;                 // of the newest that has an environment; empty: none has
  std::string machine;                    // its machine_class (machine_class.h); empty: none has
  std::optional<double> step_time_s;      // median of the finished attempts' step_time_s
  std::string sweep_id;                   // empty: outside a sweep
  SweepKind kind = SweepKind::imported;   // of the sweep
  std::vector<std::string> tags;          // of the run and of these attempts, by name
};

enum class Visit { go_on, stop };

// What a cell is, whatever ran of it.
struct ListedCell {
  std::string run_id;
  std::string matrix;
  std::string cell;
  std::map<std::string, std::string> axes;
};
using CellFilter = std::function<bool(const ListedCell&)>;

// Those of the newest sweep first, within it in the order of their newest attempts, newest first; no more sweeps are
// read than are visited, and of a few wanted cells no attempts but theirs. `wanted`: empty wants all. Rows that cannot
// be read are left out (Connection::left_out).
void for_each_run(const Connection& db, const std::function<Visit(const ListedRun&)>& visit,
                  const CellFilter& wanted = {});

struct ListedSweep {
  std::string sweep_id;  // empty: of attempts outside a sweep
  std::string matrix;
  SweepKind kind = SweepKind::imported;
  std::string started_utc;
  std::string selection;  // AttemptRecord::selection
  std::int64_t cells = 0;
  std::int64_t attempts = 0;
  std::int64_t finished = 0;  // of them, state ok
};

// Newest first.
void for_each_sweep(const Connection& db, const std::function<Visit(const ListedSweep&)>& visit);

// Every axis that some cell has, by name.
std::vector<std::string> list_axes(const Connection& db);

}  // namespace perfbench::harness
