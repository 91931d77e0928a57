#include "harness/detect/false_discovery.h"

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
    const auto rank = static_cast<double>(n - i);  // 1 is the smallest p
    least = std::min(least, p[falling[i]] * static_cast<double>(n) / rank);
    out[falling[i]] = least;
  }
  return out;
}

}  // namespace perfbench::harness
