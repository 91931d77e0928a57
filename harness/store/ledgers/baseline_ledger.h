// The ledger of baselines (tables baselines, baseline_attempts, baseline_values). Entries are added and never changed.
// Among several entries with the same name, the newest that has not expired is in force.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "harness/records/baseline.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Throws InputError without a name, an author or a reason, or if there are neither attempts nor values.
void add_baseline(Connection& db, const Baseline& baseline);

// The entry in force at `now_utc`; nullopt if there is none with that name. Throws UnreadableRow (stored_row.h).
std::optional<Baseline> find_baseline(const Connection& db, const std::string& name, const std::string& now_utc);

// The attempts of a run (by its whole id) in the newest entry in force at `now_utc` that has some.
struct BaselineOfRun {
  std::string name;
  std::vector<std::int64_t> attempt_keys;
};
std::optional<BaselineOfRun> baseline_of_run(const Connection& db, const std::string& run_id,
                                             const std::string& now_utc);

// Every readable entry, oldest first.
std::vector<Baseline> list_baselines(const Connection& db);

}  // namespace perfbench::harness
