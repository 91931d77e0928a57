#include "harness/stats/pairs.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>

#include "harness/stats/statistics.h"
#include "harness/stats/steady.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kBlock = 4;
constexpr std::array<std::string_view, 6> kOrders{"AABB", "ABAB", "ABBA", "BAAB", "BABA", "BBAA"};

}  // namespace

Side first_side(std::uint64_t seed, std::size_t cell, std::size_t place) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); };
  const std::uint64_t block = (place - 1) / kBlock;
  std::seed_seq sequence{low(seed), high(seed), low(cell), high(cell), low(block), high(block)};
  std::mt19937_64 random(sequence);
  // 2^64 is not a multiple of six, but the bias is too small to matter.
  return kOrders[random() % kOrders.size()][(place - 1) % kBlock] == 'A' ? Side::a : Side::b;
}

std::uint64_t new_seed() {
  std::random_device device;
  constexpr unsigned kBits = 53;
  return ((std::uint64_t{device()} << 32U) | device()) >> (64 - kBits);
}

namespace {

std::size_t first_steady_turn(const std::vector<double>& a_step_s, const std::vector<double>& b_step_s) {
  return std::max(find_steady_steps(a_step_s).first, find_steady_steps(b_step_s).first);
}

// ln of the steps of one side, grouped by the side that stepped before them.
struct StepsByBefore {
  std::vector<double> after_own;
  std::vector<double> after_other;

  std::optional<double> effect() const {
    constexpr std::size_t kFewest = 2;
    if (after_own.size() < kFewest || after_other.size() < kFewest) return std::nullopt;
    return median(after_other) - median(after_own);
  }
};

}  // namespace

std::optional<double> median_log_ratio(const std::vector<double>& a_step_s, const std::vector<double>& b_step_s) {
  if (a_step_s.empty() || a_step_s.size() != b_step_s.size()) return std::nullopt;
  std::vector<double> ratios;
  for (auto i = first_steady_turn(a_step_s, b_step_s); i < a_step_s.size(); ++i) {
    if (!(a_step_s[i] > 0 && b_step_s[i] > 0)) return std::nullopt;
    ratios.push_back(std::log(b_step_s[i] / a_step_s[i]));
  }
  return median(ratios);
}

std::optional<double> order_log_effect(const std::vector<double>& a_step_s, const std::vector<double>& b_step_s,
                                       const std::vector<FirstInTurn>& order) {
  if (a_step_s.empty() || a_step_s.size() != b_step_s.size() || order.size() != a_step_s.size() + 1)
    return std::nullopt;
  StepsByBefore a;
  StepsByBefore b;
  for (auto i = std::max<std::size_t>(1, first_steady_turn(a_step_s, b_step_s)); i < a_step_s.size(); ++i) {
    if (!(a_step_s[i] > 0 && b_step_s[i] > 0)) return std::nullopt;
    // The second step of a turn follows the other side. So does the first step, if the same side was first in the
    // previous turn.
    const bool first_follows_own = order[i] != order[i - 1];
    (first_follows_own && order[i] == FirstInTurn::a ? a.after_own : a.after_other).push_back(std::log(a_step_s[i]));
    (first_follows_own && order[i] == FirstInTurn::b ? b.after_own : b.after_other).push_back(std::log(b_step_s[i]));
  }
  const auto of_a = a.effect();
  const auto of_b = b.effect();
  if (!of_a || !of_b) return std::nullopt;
  return *of_b - *of_a;
}

}  // namespace perfbench::harness
