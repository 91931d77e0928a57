// Controls the false discovery rate over many tests.
#pragma once

#include <vector>

#include "harness/stats/verdict.h"

namespace perfbench::harness {

// The adjusted p of Benjamini and Hochberg for each test, in the order given. Rejecting where it is below a level keeps
// the expected share of false rejections below that level, for independent or positively dependent tests (J. R. Stat.
// Soc. B 57, 1995, p. 289).
std::vector<double> benjamini_hochberg(const std::vector<double>& p);

// A significant decision whose adjusted p is not below `alpha` becomes INCONCLUSIVE; a decision without a p counts as p
// = 1. Returns the decisions that changed, in the order given.
std::vector<Decision*> control_false_discoveries(const std::vector<Decision*>& decisions, double alpha);

}  // namespace perfbench::harness
