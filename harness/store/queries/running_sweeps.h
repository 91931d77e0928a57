// The progress of running sweeps: table running_sweeps, which has no results and is neither exported nor imported.
// Writes wait for another writer only for a moment, because a sweep must not wait for its own progress.
#pragma once

#include <string>
#include <vector>

#include "harness/records/running_sweep.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Replaces the earlier sign of the same sweep. Deletes sweeps that gave no sign in the week before it, because they
// were killed.
void record_running(Connection& db, const RunningSweep& sign);

void forget_running(Connection& db, const std::string& sweep_id);

// Those that gave a sign in the week before `now_utc`, the newest sign first. They include sweeps that were killed.
std::vector<RunningSweep> running_sweeps(const Connection& db, const std::string& now_utc);

}  // namespace perfbench::harness
