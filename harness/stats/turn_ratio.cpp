#include "harness/stats/turn_ratio.h"

#include <algorithm>
#include <cmath>

#include "harness/stats/statistics.h"
#include "harness/stats/steady.h"

namespace perfbench::harness {
namespace {

std::size_t first_steady_turn(const std::vector<double>& a_step_s, const std::vector<double>& b_step_s) {
  return std::max(find_steady_steps(a_step_s).first, find_steady_steps(b_step_s).first);
}

// ln of steps of one side, by what was before them.
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
    // The second of a turn follows the other side, as does the first where the same side was first before.
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
