// Measures how often comparisons on this machine are wrong, and what they find: real runs, through the whole of compare
// --ab.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/pairs/ab_options.h"
#include "harness/records/selftest_result.h"

namespace perfbench::harness {

class Interruption;

struct RealTrials {
  AbOptions ab = {};                     // matrix, database, pairs
  std::size_t trials = 0;                // number of comparisons of a side with itself, and with each fault
  std::vector<std::string> faults = {};  // injected into side B (engine/faults/faults.h)
};

struct RealRates {
  std::vector<SelftestResult> rows = {};
  bool cancelled = false;  // the rows cover the comparisons that were finished
};

// Returns one row for the engine compared with itself, whose goal is an upper Wilson bound of twice the level, and one
// for each fault; each of these for every way of pairing that was used; none if no pair counted. Every cell of a
// comparison is a trial, unless too many of its pairs were spoiled for a verdict. Progress goes to standard error.
// Throws InputError.
RealRates run_real_trials(const RealTrials& what, const Installation& installation, Interruption& interruption);

}  // namespace perfbench::harness
