#include "harness/stats/screen_rule.h"

#include <cmath>

namespace perfbench::harness {
namespace {

// A rarer screen lasts fewer nights: 1.4 where 600 series share a budget, not 2, by simulation.
constexpr double kShorterScreens = 1.2;

}  // namespace

ScreenRule with_share(ScreenRule rule, double share) {
  const double factor = std::pow(share, kShorterScreens);
  rule.screens_per_year *= factor;
  rule.record_nights_per_year *= factor;
  rule.lone_nights_per_year *= factor;
  rule.noisier_nights_per_year *= factor;
  return rule;
}

ScreenRule rule_within(const ScreenBudget& budget, double series, ScreenRule rule) {
  const double unbudgeted = rule.screens_per_year * series / kNightsPerYear;
  if (unbudgeted <= budget.screens_per_night) return rule;
  return with_share(rule, budget.screens_per_night / unbudgeted);
}

}  // namespace perfbench::harness
