#include "harness/stats/proportion.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/hypergeometric.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <stdexcept>

namespace perfbench::harness {

// Wilson, J. Am. Stat. Assoc. 22 (1927), p. 209: all rates that a score test of these trials would not reject.
Proportion wilson(std::uint64_t successes, std::uint64_t trials, double confidence) {
  if (trials == 0 || successes > trials)
    throw std::invalid_argument("a rate needs trials, and at most as many successes");
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

// Fisher, J. Royal Stat. Soc. 98 (1935), p. 39.
double fisher_exact_p(std::uint64_t a_successes, std::uint64_t a_trials, std::uint64_t b_successes,
                      std::uint64_t b_trials) {
  if (a_successes > a_trials || b_successes > b_trials)
    throw std::invalid_argument("there are more successes than trials");
  const auto successes = static_cast<unsigned>(a_successes + b_successes);
  const auto of_a = static_cast<unsigned>(a_trials);
  const auto of_b = static_cast<unsigned>(b_trials);
  const boost::math::hypergeometric tables(successes, of_a, of_a + of_b);
  constexpr double kEqual = 1 + 1e-7;  // probabilities that differ by less are equal up to rounding
  const double seen = boost::math::pdf(tables, static_cast<unsigned>(a_successes)) * kEqual;
  double p = 0;
  for (auto x = successes > of_b ? successes - of_b : 0; x <= std::min(successes, of_a); ++x) {
    const double other = boost::math::pdf(tables, x);
    if (other <= seen) p += other;
  }
  return std::min(1.0, p);
}

double sign_test_p(std::uint64_t a, std::uint64_t b) {
  const boost::math::binomial halves(static_cast<double>(a + b), 0.5);
  return std::min(1.0, 2 * boost::math::cdf(halves, static_cast<double>(std::min(a, b))));
}

std::size_t median_bound(std::size_t values) {
  const boost::math::binomial below(static_cast<double>(values), 0.5);
  return static_cast<std::size_t>(std::max(0.0, std::floor(boost::math::quantile(below, 0.025))));
}

}  // namespace perfbench::harness
