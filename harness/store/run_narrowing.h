// Where in a store the few runs are that somebody wants, found by indexes.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "harness/sqlite/sqlite.h"
#include "harness/store/listed_run.h"

namespace perfbench::harness {

struct RunNarrowing {
  std::optional<std::vector<std::int64_t>> cells;  // cell_key; nothing: too many to look for one by one
  std::optional<std::set<std::int64_t>> sweeps;    // sweep_key; nothing: all
};

// No run that the filter's cell, environment, all_ok and untagged want is elsewhere.
RunNarrowing places_of(const Connection& db, const RunFilter& wanted);

}  // namespace perfbench::harness
