#include "harness/stats/detection.h"

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <numeric>
#include <utility>

#include "harness/stats/log_difference.h"
#include "harness/stats/statistics.h"
#include "harness/stats/steady.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kFirstLook = 8;
constexpr std::size_t kLookStep = 4;
// With 8 pairs the sign-flip test requires eight differences of one sign, which costs a fifth of the power.
constexpr std::size_t kFewestPlanned = 12;
constexpr std::size_t kFewestTurns = 10;
constexpr double kPlanReserve = 0.75;

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Medians of five consecutive turns, in units of the deviation of a turn: the median of five independent Gaussian
// values deviates by 0.5355. Where a neighbour takes the cores for a few turns, or steps have two speeds, these medians
// deviate by more than single turns suggest, and so does the median of a pair.
double deviation_of_blocks(const std::vector<std::vector<double>>& pairs) {
  constexpr std::ptrdiff_t kBlockOfTurns = 5;
  constexpr double kMedianOfFive = 0.5355;
  double squares = 0;
  double freedom = 0;
  for (const auto& ratios : pairs) {
    std::vector<double> medians;
    for (auto at = ratios.begin(); ratios.end() - at >= kBlockOfTurns; at += kBlockOfTurns) {
      medians.push_back(median({at, at + kBlockOfTurns}));
    }
    if (medians.size() < 2) continue;
    const double middle = sum_of(medians) / static_cast<double>(medians.size());
    for (const double one : medians) squares += (one - middle) * (one - middle);
    freedom += static_cast<double>(medians.size() - 1);
  }
  return freedom == 0 ? 0 : std::sqrt(squares / freedom) / kMedianOfFive;
}

// The standard error with which the difference is found with power 0.8, less the reserve.
double wanted_error(std::size_t pairs, double fraction, double alpha) {
  const LogDifference unit{.error = 1, .freedom = static_cast<double>(pairs - 1)};
  return kPlanReserve * std::log1p(fraction) / detectable_log(unit, alpha);
}

// 0 if even turns without any noise would not be enough.
std::size_t turns_needed(const Pilot& cell, std::size_t pairs, double error) {
  const double left = static_cast<double>(pairs) * error * error - kPairDeviation * kPairDeviation;
  if (left <= 0) return 0;
  const double of_turns = boost::math::constants::half_pi<double>() * cell.turn_deviation * cell.turn_deviation;
  const double turns = std::ceil(of_turns / left);
  if (turns > static_cast<double>(cell.most_turns)) return 0;
  return std::max(kFewestTurns, static_cast<std::size_t>(turns));
}

DetectionPlan plan_of(const std::vector<Pilot>& cells, std::size_t pairs, double fraction, double alpha) {
  DetectionPlan out{.pairs = pairs, .turns = {}, .cost_s = {}};
  const double error = wanted_error(pairs, fraction, alpha);
  for (const auto& cell : cells) {
    const auto turns = turns_needed(cell, pairs, error);
    out.turns.push_back(turns);
    const double steps = static_cast<double>(turns + cell.warmup_steps);
    out.cost_s.push_back(turns == 0 ? 0 : static_cast<double>(pairs) * (cell.start_s + steps * cell.turn_s));
  }
  return out;
}

}  // namespace

std::optional<Pilot> read_pilot(const std::vector<PilotPair>& pairs) {
  std::vector<double>
      ratios;  // around the middle of their pair, because the difference of the two process runs is not noise of a turn
  std::vector<std::vector<double>> by_pair;
  std::vector<double> turns_s;
  std::vector<double> starts_s;
  Pilot out;
  for (const auto& pair : pairs) {
    const auto steps = std::min(pair.a_step_s.size(), pair.b_step_s.size());
    if (steps == 0 || pair.a_step_s.size() != pair.b_step_s.size()) return std::nullopt;
    const auto first = std::max(find_steady_steps(pair.a_step_s).first, find_steady_steps(pair.b_step_s).first);
    out.warmup_steps = std::max(out.warmup_steps, first);
    starts_s.push_back(std::max(0.0, pair.wall_s - sum_of(pair.a_step_s) - sum_of(pair.b_step_s)));
    std::vector<double> of_pair;
    for (auto i = first; i < steps; ++i) {
      if (!(pair.a_step_s[i] > 0 && pair.b_step_s[i] > 0)) return std::nullopt;
      of_pair.push_back(std::log(pair.b_step_s[i] / pair.a_step_s[i]));
      turns_s.push_back(pair.a_step_s[i] + pair.b_step_s[i]);
    }
    const double middle = median(of_pair);
    for (const double ratio : of_pair) ratios.push_back(ratio - middle);
    by_pair.push_back(std::move(of_pair));
  }
  if (ratios.empty()) return std::nullopt;
  out.turn_deviation = std::max(robust_deviation(ratios), deviation_of_blocks(by_pair));
  out.turn_s = sum_of(turns_s) / static_cast<double>(turns_s.size());
  out.start_s = sum_of(starts_s) / static_cast<double>(starts_s.size());
  return out;
}

DetectionPlan plan_detection(const std::vector<Pilot>& cells, double fraction, double alpha) {
  DetectionPlan best;
  for (auto pairs = kFewestPlanned; pairs <= kMostDetectionPairs; pairs += kLookStep) {
    auto plan = plan_of(cells, pairs, fraction, alpha);
    const auto left_out = [](const DetectionPlan& p) { return std::count(p.turns.begin(), p.turns.end(), 0U); };
    const bool better = best.pairs == 0 || left_out(plan) < left_out(best) ||
                        (left_out(plan) == left_out(best) && sum_of(plan.cost_s) < sum_of(best.cost_s));
    if (better) best = std::move(plan);
  }
  return best;
}

std::vector<std::size_t> detection_looks(std::size_t pairs) {
  std::vector<std::size_t> looks;
  for (auto look = kFirstLook; look < pairs; look += kLookStep) looks.push_back(look);
  looks.push_back(pairs);
  return looks;
}

}  // namespace perfbench::harness
