// How often comparisons on this machine are wrong, and what they find: real runs, through all that compare --ab does.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/cli/ab_options.h"
#include "harness/cli/commands.h"
#include "harness/selftest/result.h"

namespace perfbench::harness {

class Interruption;

struct RealTrials {
  AbOptions ab = {};                     // matrix, database, pairs
  std::size_t trials = 0;                // comparisons of a side with itself, and as many with each fault
  std::vector<std::string> faults = {};  // put into side B (engine/faults/faults.h)
};

// A row for the engine against itself, whose goal is an upper Wilson bound of twice the level, and one for each fault.
// Every cell of a comparison counts as one trial. Cut off, it tells of the comparisons that were finished. Progress
// goes to standard error. Throws InputError.
std::vector<SelftestResult> run_real_trials(const RealTrials& what, const CommandContext& context,
                                            Interruption& interruption);

}  // namespace perfbench::harness
