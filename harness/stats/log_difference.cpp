#include "harness/stats/log_difference.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

namespace perfbench::harness {
namespace {

constexpr std::size_t kMost = 20;  // at most this many values are enumerated
constexpr std::uint64_t kDraws = 99'999;

// The same numbers added in another order give a sum that differs by rounding: a tie must count as one.
bool at_least(double candidate, double observed) {
  return candidate >= observed * (1 - 1e-12);
}

}  // namespace

double permutation_p(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> pooled(a);
  pooled.insert(pooled.end(), b.begin(), b.end());
  const auto n = pooled.size();
  if (a.empty() || b.empty() || n > kMost) throw std::invalid_argument("permutation_p takes 2 to 20 values");
  // Centred, the difference of means is a multiple of the sum of group a.
  const double center = std::accumulate(pooled.begin(), pooled.end(), 0.0) / static_cast<double>(n);
  double observed = 0;
  for (const double x : a) observed += x - center;
  observed = std::abs(observed);
  std::uint64_t splits = 0;
  std::uint64_t extreme = 0;
  for (std::uint32_t chosen = 0; chosen < (1U << n); ++chosen) {
    if (static_cast<std::size_t>(std::popcount(chosen)) != a.size()) continue;
    double sum = 0;
    for (std::uint32_t rest = chosen; rest != 0; rest &= rest - 1) {
      sum += pooled[static_cast<std::size_t>(std::countr_zero(rest))] - center;
    }
    ++splits;
    extreme += at_least(std::abs(sum), observed);
  }
  return static_cast<double>(extreme) / static_cast<double>(splits);
}

double sign_flip_p(const std::vector<double>& d) {
  const auto n = d.size();
  if (n == 0) throw std::invalid_argument("sign_flip_p takes at least one value");
  const double observed = std::abs(std::accumulate(d.begin(), d.end(), 0.0));
  const auto extreme = [&](std::uint64_t flips) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += (flips >> i & 1U) != 0 ? -d[i] : d[i];
    return at_least(std::abs(sum), observed);
  };
  std::uint64_t count = 0;
  if (n <= kMost) {
    for (std::uint64_t flips = 0; flips < (std::uint64_t{1} << n); ++flips) count += extreme(flips);
    return std::ldexp(static_cast<double>(count), -static_cast<int>(n));
  }
  if (n > 64) throw std::invalid_argument("sign_flip_p takes at most 64 values");
  std::mt19937_64 random(kDraws);  // any fixed seed: the same pairs always give the same p
  for (std::uint64_t i = 0; i < kDraws; ++i) count += extreme(random());
  return static_cast<double>(count + 1) / static_cast<double>(kDraws + 1);
}

namespace {

using boost::math::statistics::mean;
using boost::math::statistics::sample_variance;

double t_quantile(double freedom, double probability) {
  return boost::math::quantile(boost::math::students_t(freedom), probability);
}

}  // namespace

Interval LogDifference::interval(double confidence) const {
  const double half = t_quantile(freedom, 0.5 + confidence / 2) * error + doubt;
  return {.low = mean - half, .high = mean + half};
}

double LogDifference::t_p() const {
  const double beyond = std::max(0.0, std::abs(mean) - doubt);
  if (error == 0) return beyond == 0 ? 1.0 : 0.0;
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(freedom), beyond / error));
}

LogDifference welch_difference(const std::vector<double>& a, const std::vector<double>& b) {
  LogDifference out{.mean = mean(a) - mean(b)};
  if (a.size() < 2 || b.size() < 2) return out;
  const auto na = static_cast<double>(a.size());
  const auto nb = static_cast<double>(b.size());
  const double va = sample_variance(a) / na;
  const double vb = sample_variance(b) / nb;
  out.error = std::sqrt(va + vb);
  const double equal = na + nb - 2;
  out.freedom = va + vb > 0 ? (va + vb) * (va + vb) / (va * va / (na - 1) + vb * vb / (nb - 1)) : equal;
  return out;
}

LogDifference mean_difference(const std::vector<double>& d) {
  LogDifference out{.mean = mean(d)};
  if (d.size() < 2) return out;
  const auto n = static_cast<double>(d.size());
  out.error = std::sqrt(sample_variance(d) / n);
  out.freedom = n - 1;
  return out;
}

PairedDifference paired_difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> within;
  std::vector<double> between;
  for (std::size_t i = 0; i < a.size(); ++i) {
    within.push_back(b[i] - a[i]);
    between.push_back(b[i] + a[i]);
  }
  PairedDifference out{.difference = mean_difference(within)};
  if (!out.difference.has_spread()) return out;
  // If runs of a pair are unrelated, both estimate twice the variance of a run.
  const double of_differences = sample_variance(within);
  const double of_sums = sample_variance(between);
  const double freedom = out.difference.freedom;
  constexpr double kLevel = 0.05;
  const double limit = boost::math::quantile(boost::math::complement(boost::math::fisher_f(freedom, freedom), kLevel));
  out.pooled = of_sums <= limit * of_differences;
  if (!out.pooled) return out;
  out.difference.error = std::sqrt((of_differences + of_sums) / 2 / static_cast<double>(a.size()));
  out.difference.freedom = 2 * freedom;
  return out;
}

double detectable_log(const LogDifference& difference, double alpha) {
  const double quantiles = t_quantile(difference.freedom, 1 - alpha / 2) + t_quantile(difference.freedom, 0.8);
  return quantiles * difference.error + difference.doubt;
}

std::size_t values_needed(double deviation, double log_margin, double alpha, std::size_t fewest, double freedom_each) {
  const auto enough = [&](std::size_t n) {
    const auto count = static_cast<double>(n);
    return detectable_log({.error = deviation / std::sqrt(count), .freedom = freedom_each * (count - 1)}, alpha) <=
           log_margin;
  };
  std::size_t high = fewest < 2 ? 2 : fewest;
  if (enough(high)) return high;
  std::size_t low = high;  // too few values
  while (!enough(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

void describe(Decision& decision, const LogDifference& difference) {
  decision.ratio = std::exp(difference.mean);
  if (!difference.has_spread()) return;
  const auto wide = difference.interval(0.95);
  decision.ratio_95 = Interval{.low = std::exp(wide.low), .high = std::exp(wide.high)};
}

std::string percent(double fraction) {
  return fmt::format("{:.1f} %", 100 * fraction);
}

}  // namespace perfbench::harness
