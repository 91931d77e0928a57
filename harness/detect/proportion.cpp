#include "harness/detect/proportion.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <stdexcept>

namespace perfbench::harness {

// Wilson, J. Am. Stat. Assoc. 22 (1927), p. 209: the rates that a score test of these trials would not reject.
Proportion wilson(std::uint64_t successes, std::uint64_t trials, double confidence) {
  if (trials == 0 || successes > trials) throw std::invalid_argument("a rate needs trials, and no more successes");
  const double z = boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2);
  const auto n = static_cast<double>(trials);
  const double p = static_cast<double>(successes) / n;
  const double shrink = 1 + z * z / n;
  const double center = (p + z * z / (2 * n)) / shrink;
  const double half = z / shrink * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {.value = p,
          .low = successes == 0 ? 0.0 : std::max(0.0, center - half),
          .high = successes == trials ? 1.0 : std::min(1.0, center + half)};
}

}  // namespace perfbench::harness
