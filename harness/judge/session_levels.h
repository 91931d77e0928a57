// How far sessions of one cell differ, as series of nights tell it (harness/stats/between_sessions.h).
#pragma once

#include <vector>

#include "harness/records/series.h"
#include "harness/stats/between_sessions.h"

namespace perfbench::harness {

// Without nights on which the probe moved during all runs: such runs have no part in a comparison either.
SessionLevels session_levels(const std::vector<SeriesHistory>& series);

}  // namespace perfbench::harness
