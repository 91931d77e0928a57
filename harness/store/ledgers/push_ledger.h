// Table pushes: files that machines pushed to a server, which took them into its database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/store/sqlite.h"

namespace perfbench::harness {

struct Push {
  std::string sha256;  // of the file
  std::string machine;
  std::string received_utc;
  std::int64_t bytes = 0;
  std::int64_t added = 0;    // attempts
  std::int64_t present = 0;  // attempts that the database had already
};

// Call it in the transaction that added the attempts: those with a key above `last_attempt` are the push's.
void record_push(Connection& db, const Push& push, std::int64_t last_attempt);

// The highest key of an attempt; 0 without one.
std::int64_t last_attempt_key(const Connection& db);

std::optional<Push> find_push(const Connection& db, const std::string& sha256);

}  // namespace perfbench::harness
