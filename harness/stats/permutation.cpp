#include "harness/stats/permutation.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>

namespace perfbench::harness {
namespace {

constexpr std::size_t kMost = 20;  // enumerated up to here
constexpr std::uint64_t kDraws = 99'999;

// Sums of the same numbers in another order differ by rounding: a tie must count as one.
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

}  // namespace perfbench::harness
