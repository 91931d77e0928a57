// The store's knowledge about differences between sessions of a cell.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/cell_runs.h"
#include "harness/stats/between_sessions.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// The sessions of these cells' matrices: nights and sweeps by hand, as far back as the nightly screen looks, for those
// metrics that vary between sessions.
KnownSessions load_known_sessions(const Connection& db, const std::vector<CellRuns>& cells,
                                  const std::vector<std::string>& metrics);

}  // namespace perfbench::harness
