// What a store holds, a row for each run of a sweep: what `perfbench list` shows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/sqlite/sqlite.h"
#include "harness/store/listed_run.h"

namespace perfbench::harness {

enum class Visit { go_on, stop };

// Those of the newest sweep first, within it in the order of their newest attempts, newest first; no more sweeps are
// read than are visited. What is visited may still be what the filter does not want. Rows that cannot be read are left
// out (Connection::left_out).
void for_each_run(const Connection& db, const std::function<Visit(const ListedRun&)>& visit,
                  const RunFilter& wanted = {});

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
