// Where measured error rates are kept: table selftest_results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/selftest/result.h"
#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

struct SelftestRun {
  std::string date_utc;
  std::string version;  // of perfbench
  std::uint64_t seed = 0;
};

// In one transaction.
void store_selftest(Connection& db, const SelftestRun& run, const std::vector<SelftestResult>& results);

}  // namespace perfbench::harness
