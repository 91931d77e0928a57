// Permutation tests of means, exact.
#pragma once

#include <vector>

namespace perfbench::harness {

// Two-sided p of the difference of means under every split of the pooled values into groups of these sizes. At most 20
// values in all.
double permutation_p(const std::vector<double>& a, const std::vector<double>& b);

// Two-sided p of the mean under every change of signs; beyond 20 values, and up to 64, under 99999 random ones and the
// observed one, always the same.
double sign_flip_p(const std::vector<double>& d);

}  // namespace perfbench::harness
