// Finds the commit that caused a regression. Each step is a comparison in pairs with the good commit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/pairs/ab_options.h"
#include "harness/judge/bisection.h"

namespace perfbench::harness {

class Interruption;

struct BisectRequest {
  std::string good;
  std::string bad;
  std::string metric = "step_time_s";
  AbOptions ab = {};
};

// The result of a commit's comparison with the good commit.
struct BisectStep {
  std::string commit;
  std::string subject;
  StepOutcome outcome = StepOutcome::skipped;
  std::string detail;
};

enum class BisectEnd {
  found,            // one commit
  several,          // commits that cannot be distinguished
  nothing_to_find,  // the bad commit is not worse than the good one
  undecided,        // the comparison of the bad commit was inconclusive
};

struct BisectOutcome {
  BisectEnd end = BisectEnd::undecided;
  std::vector<BisectStep> suspects;  // for found and several, oldest first: commit and subject
};

// `on_step` is called for every commit that was tested. A commit that cannot be built or decided is skipped. Throws
// InputError, BuildError for the good or the bad commit, Cancelled (the steps so far are in the database).
BisectOutcome bisect_commits(BisectRequest request, const Installation& installation, Interruption& interruption,
                             const std::function<void(const BisectStep&)>& on_step);

}  // namespace perfbench::harness
