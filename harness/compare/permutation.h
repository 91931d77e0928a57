// Exact permutation tests of means.
#pragma once

#include <vector>

namespace perfbench::harness {

// Two-sided p of the difference of means under every split of the pooled values into groups of these sizes. At most 20
// values in all.
double permutation_p(const std::vector<double>& a, const std::vector<double>& b);

// Two-sided p of the mean under every change of signs. At most 20 values.
double sign_flip_p(const std::vector<double>& d);

}  // namespace perfbench::harness
