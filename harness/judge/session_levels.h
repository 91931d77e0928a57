// How far sessions of one cell differ, computed from series of nights (harness/stats/between_sessions.h).
#pragma once

#include <vector>

#include "harness/records/series.h"
#include "harness/stats/between_sessions.h"

namespace perfbench::harness {

// Leaves out nights on which the probe moved during all runs: comparisons do not use such runs either.
SessionLevels session_levels(const std::vector<SeriesHistory>& series);

}  // namespace perfbench::harness
