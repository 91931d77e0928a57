// The progress of running sweeps: table running_sweeps, which has no results and is neither exported nor imported.
#pragma once

#include <string>
#include <vector>

#include "harness/records/running_sweep.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Replaces the earlier sign of the same sweep. Forgets sweeps that gave no sign in the week before it, because they
// were killed.
void record_running(Connection& db, const RunningSweep& sign);

void forget_running(Connection& db, const std::string& sweep_id);

// The newest sign first. A sweep that was killed stays in the list until it is forgotten.
std::vector<RunningSweep> running_sweeps(const Connection& db);

}  // namespace perfbench::harness
