// Cells out of the store, each of which runs in many sweeps.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/records/listed_run.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

struct StoredCell {
  std::int64_t run_key = 0;
  std::string run_id;
  std::string matrix;
  std::string label;
  std::map<std::string, std::string> axes;
};

// Those that were asked for lately are read once.
class CellReader {
 public:
  explicit CellReader(const Connection& db);

  // Until the next call.
  const StoredCell& of(std::int64_t cell_key);

 private:
  Statement cell_;
  Statement axes_;
  std::unordered_map<std::int64_t, StoredCell> known_;
};

// Where in a store the few runs are that somebody wants, found by indexes.
struct RunNarrowing {
  std::optional<std::vector<std::int64_t>> cells;  // cell_key; nothing: too many to look for one by one
  std::optional<std::set<std::int64_t>> sweeps;    // sweep_key; nothing: all
};

// No run that the filter's cell, environment, all_ok and untagged want is elsewhere.
RunNarrowing places_of(const Connection& db, const RunFilter& wanted);

// What a store holds, a row for each run of a sweep: what `perfbench list` shows.
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
