#include "harness/stats/false_discovery.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace perfbench::harness {

std::vector<double> benjamini_hochberg(const std::vector<double>& p) {
  const auto n = p.size();
  std::vector<std::size_t> falling(n);
  std::iota(falling.begin(), falling.end(), std::size_t{0});
  std::sort(falling.begin(), falling.end(), [&](std::size_t i, std::size_t j) { return p[i] > p[j]; });
  std::vector<double> out(n);
  double least = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const auto rank = static_cast<double>(n - i);  // the smallest p has rank 1
    least = std::min(least, p[falling[i]] * static_cast<double>(n) / rank);
    out[falling[i]] = least;
  }
  return out;
}

std::vector<Decision*> control_false_discoveries(const std::vector<Decision*>& decisions, double alpha) {
  std::vector<double> p;
  for (const auto* decision : decisions) p.push_back(decision->p.value_or(1.0));
  const auto adjusted = benjamini_hochberg(p);
  std::vector<Decision*> changed;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    auto* decision = decisions[i];
    if (decision->reason != VerdictReason::significant || adjusted[i] < alpha) continue;
    conclude(*decision, Verdict::inconclusive, VerdictReason::false_discovery,
             fmt::format("p = {:.2g} alone, but {:.2g} among the {} compared, not below {}", p[i], adjusted[i],
                         decisions.size(), alpha));
    changed.push_back(decision);
  }
  return changed;
}

}  // namespace perfbench::harness
