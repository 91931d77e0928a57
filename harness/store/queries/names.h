// What a person may have meant by a name: sweeps and runs that the store has.
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

// Runs whose id begins so, at most 100.
std::vector<NamedCandidate> runs_that_begin_with(const Connection& db, const std::string& start);

bool has_sweep(const Connection& db, const std::string& sweep_id);

// Newest first, without attempts outside a sweep.
std::vector<std::string> newest_sweep_ids(const Connection& db, std::size_t most);
// Of so many the one that is nearest to an unknown name is suggested.
inline constexpr std::size_t kSweepsLookedAt = 100;

// SweepKind as the store has it; empty where there is no such sweep.
std::string kind_of_sweep(const Connection& db, const std::string& sweep_id);

// AttemptRecord::attempt; nothing where there is no such attempt.
std::optional<std::int64_t> number_of_attempt(const Connection& db, std::int64_t attempt_key);

bool has_any_attempt(const Connection& db);

}  // namespace perfbench::harness
