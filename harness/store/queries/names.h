// Sweeps and runs of the store that a user may mean by a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/store/sqlite.h"

namespace perfbench::harness {

// A run with its newest attempt.
struct NamedCandidate {
  std::string run_id;
  std::string cell;         // its label; empty: outside a matrix
  std::string started_utc;  // of that attempt
};

std::vector<NamedCandidate> all_runs(const Connection& db);

// Runs whose ids begin with this text, at most 100.
std::vector<NamedCandidate> runs_that_begin_with(const Connection& db, const std::string& start);

bool has_sweep(const Connection& db, const std::string& sweep_id);

// Newest first, without attempts outside a sweep.
std::vector<std::string> newest_sweep_ids(const Connection& db, std::size_t most);
// The number of sweeps among which the closest one to an unknown name is suggested.
inline constexpr std::size_t kSweepsLookedAt = 100;

// When the newest night started, among nights up to `now_utc`. nullopt before the first night.
std::optional<std::string> newest_night_utc(const Connection& db, const std::string& now_utc);

// The stored SweepKind; empty if there is no such sweep.
std::string kind_of_sweep(const Connection& db, const std::string& sweep_id);

// AttemptRecord::attempt; nullopt if there is no such attempt.
std::optional<std::int64_t> number_of_attempt(const Connection& db, std::int64_t attempt_key);

bool has_any_attempt(const Connection& db);

}  // namespace perfbench::harness
