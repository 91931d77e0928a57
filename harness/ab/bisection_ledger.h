// Searches for a first bad commit in the store: tables bisections, bisection_steps and bisection_candidates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/ab/bisection.h"
#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

struct BisectionRecord {
  std::string matrix;
  std::string metric;
  std::string good_commit;
  std::string bad_commit;
};

struct BisectionStepRecord {
  std::string commit;
  StepOutcome outcome = StepOutcome::skipped;
  std::string detail;
  std::string comparison_id;  // empty where none ran
};

// Its key.
std::int64_t begin_bisection(Connection& db, const BisectionRecord& bisection);
void add_bisection_step(Connection& db, std::int64_t key, std::int64_t step, const BisectionStepRecord& record);
// `commits` oldest first: one, or those that cannot be told apart.
void finish_bisection(Connection& db, std::int64_t key, const std::vector<std::string>& commits);

}  // namespace perfbench::harness
