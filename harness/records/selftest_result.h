// One measurement of `perfbench selftest`.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "harness/stats/proportion.h"
#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

enum class SelftestKind { aa, equivalence, power, false_alarms, delay };

// The number that has to meet the goal: the measured value, or the upper end of its 95 % interval.
enum class GoalRule { value_at_least, value_at_most, high_at_most };

struct SelftestGoal {
  GoalRule rule = GoalRule::value_at_most;
  double limit = 0;
};

struct SelftestResult {
  SelftestKind kind = SelftestKind::aa;
  std::string noise;
  std::string measure;
  double value = 0;
  double low = 0;  // 95 % interval
  double high = 0;
  std::optional<SelftestGoal> goal;
};

// The result row of a rate.
inline SelftestResult rate_row(SelftestKind kind, std::string noise, std::string measure, const Proportion& rate,
                               const std::optional<SelftestGoal>& goal = {}) {
  return {.kind = kind,
          .noise = std::move(noise),
          .measure = std::move(measure),
          .value = rate.value,
          .low = rate.low,
          .high = rate.high,
          .goal = goal};
}

// nullopt without a goal.
inline std::optional<bool> goal_met(const SelftestResult& result) {
  if (!result.goal) return std::nullopt;
  switch (result.goal->rule) {
    case GoalRule::value_at_least:
      return result.value >= result.goal->limit;
    case GoalRule::value_at_most:
      return result.value <= result.goal->limit;
    case GoalRule::high_at_most:
      return result.high <= result.goal->limit;
  }
  return std::nullopt;
}

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::SelftestKind> {
  using K = perfbench::harness::SelftestKind;
  static constexpr std::array kNames{std::pair{K::aa, "aa"}, std::pair{K::equivalence, "equivalence"},
                                     std::pair{K::power, "power"}, std::pair{K::false_alarms, "false_alarms"},
                                     std::pair{K::delay, "delay"}};
};
template <>
struct perfbench::spec::EnumNames<perfbench::harness::GoalRule> {
  using R = perfbench::harness::GoalRule;
  static constexpr std::array kNames{std::pair{R::value_at_least, "value_at_least"},
                                     std::pair{R::value_at_most, "value_at_most"},
                                     std::pair{R::high_at_most, "high_at_most"}};
};
