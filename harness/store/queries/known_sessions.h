// What the nights of a store know of how far sessions of one cell differ (harness/stats/between_sessions.h).
#pragma once

#include <string>
#include <vector>

#include "harness/judge/cell_runs.h"
#include "harness/stats/between_sessions.h"
#include "harness/store/queries/series.h"

namespace perfbench::harness {

// Without nights on which the probe moved during all runs: such runs have no part in a comparison either.
SessionLevels session_levels(const std::vector<SeriesHistory>& series);

// Of the matrices of these cells, nights and sweeps by hand, as far back as the nightly screen looks; of those of the
// metrics that vary between sessions.
KnownSessions load_known_sessions(const Connection& db, const std::vector<CellRuns>& cells,
                                  const std::vector<std::string>& metrics);

}  // namespace perfbench::harness
