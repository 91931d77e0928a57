// The false discovery rate over many tests.
#pragma once

#include <vector>

#include "harness/stats/verdict.h"

namespace perfbench::harness {

// Benjamini and Hochberg's adjusted p of each test, in the order given: rejecting where it is below a level keeps the
// expected share of false rejections below it, for independent or positively dependent tests (J. R. Stat. Soc. B 57,
// 1995, p. 289).
std::vector<double> benjamini_hochberg(const std::vector<double>& p);

// A significant decision whose adjusted p is not below `alpha` becomes INCONCLUSIVE; one without a p counts as p = 1.
// Returns those that changed, in the order given.
std::vector<Decision*> control_false_discoveries(const std::vector<Decision*>& decisions, double alpha);

}  // namespace perfbench::harness
