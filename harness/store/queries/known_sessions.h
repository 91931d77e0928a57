// What the store knows of how far sessions of a cell differ.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/cell_runs.h"
#include "harness/stats/between_sessions.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Of the matrices of these cells, nights and sweeps by hand, as far back as the nightly screen looks; of those of the
// metrics that vary between sessions.
KnownSessions load_known_sessions(const Connection& db, const std::vector<CellRuns>& cells,
                                  const std::vector<std::string>& metrics);

}  // namespace perfbench::harness
