// Pairs of a night: an earlier version of the code and tonight's.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "harness/app/night/night.h"
#include "harness/judge/night_verdict.h"

namespace perfbench::harness {

// The results of the parts of a night before its pairs.
struct SoFar {
  Night& night;
  const Measured& measured;
  const Screened& screened;
};

struct NightPairs {
  std::optional<NightComparison> comparison;
  // Without a comparison: a side cannot run here. It is an engine that is too old to understand tonight's runs, one
  // that the system cannot start, or a commit that cannot be built. None of them ends the night.
  std::string why_not;
  bool cancelled = false;
};

// Compares the cells in pairs. The sides may be revisions that are not built yet.
NightPairs run_pairs(Night& night, const AbSide& a, const AbSide& b, const std::set<std::string>& cells,
                     AbPurpose purpose);

}  // namespace perfbench::harness
