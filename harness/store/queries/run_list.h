// Reads cells from the store, each of which runs in many sweeps.
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

// Recently requested cells are kept in memory.
class CellReader {
 public:
  explicit CellReader(const Connection& db);

  // The reference is valid until the next call.
  const StoredCell& of(std::int64_t cell_key);

 private:
  Statement cell_;
  Statement axes_;
  std::unordered_map<std::int64_t, StoredCell> known_;
};

// Where the requested runs are in a store, found through indexes.
struct RunNarrowing {
  std::optional<std::vector<std::int64_t>> cells;  // cell_key; nullopt: too many to find one by one
  std::optional<std::set<std::int64_t>> sweeps;    // sweep_key; nullopt: all
};

// All runs that the filter's cell, environment, all_ok and untagged accept are in these places.
RunNarrowing places_of(const Connection& db, const RunFilter& wanted);

// The contents of a store for `perfbench list`: a row for each run of a sweep.
enum class Visit { go_on, stop };

// Visits the runs of the newest sweep first, and within a sweep those with the newest attempts first. Reads no more
// sweeps than are visited. Visited runs may still fail the filter. Rows that cannot be read are left out
// (Connection::left_out).
void for_each_run(const Connection& db, const std::function<Visit(const ListedRun&)>& visit,
                  const RunFilter& wanted = {});

struct ListedSweep {
  std::string sweep_id;  // empty: for attempts outside a sweep
  std::string matrix;
  SweepKind kind = SweepKind::imported;
  std::string started_utc;
  std::string selection;  // AttemptRecord::selection
  std::int64_t cells = 0;
  std::int64_t attempts = 0;
  std::int64_t finished = 0;  // attempts with state ok
};

// Newest first.
void for_each_sweep(const Connection& db, const std::function<Visit(const ListedSweep&)>& visit);

// The names of all axes of all cells, sorted.
std::vector<std::string> list_axes(const Connection& db);

}  // namespace perfbench::harness
