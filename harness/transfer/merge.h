// Rows of one database into another, known by what they are and never by local keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

struct MergeScope {
  // Nothing: all that both databases have tables for. Else these attempts with what they refer to, and of the records
  // about several attempts (baselines, A/B comparisons) those whose attempts are all among them.
  std::optional<std::vector<std::int64_t>> attempt_keys = {};
};

struct MergeCount {
  std::int64_t added = 0;
  std::int64_t present = 0;  // 0 for tables whose rows are parts of others: they are taken or left with those
};

// Takes rows of the database `source` (attached under that name) that the main one lacks. What stays: messages that
// wait for a webhook, which the other database would send again, and what has no finished_utc yet. Call it within a
// transaction. Throws InputError, naming both and the row, where one row has other contents in the two; `source_name`
// is what the message calls the other one. Returns the rows of every table.
std::map<std::string, MergeCount> merge_source(Connection& db, const MergeScope& scope, const std::string& source_name);

}  // namespace perfbench::harness
