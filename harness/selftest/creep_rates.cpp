#include "harness/selftest/creep_rates.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "harness/selftest/screen_rates.h"
#include "harness/stats/screen.h"

namespace perfbench::harness {
namespace {

constexpr std::uint64_t kCreepPurpose = 37;
constexpr std::size_t kLevelNights = 80;
constexpr std::size_t kCreepNights = 30;
constexpr std::size_t kStepNights = 14;
constexpr double kPerNight = 0.002;
constexpr double kSeenByPairs = 0.03;
constexpr double kStep = 0.03;

template <class Level>
std::vector<double> draw_levels(NoiseKind kind, std::size_t nights, std::uint64_t seed, std::size_t index,
                                const Level& level) {
  Noise noise(kind, series_random(seed, kind, kCreepPurpose, index));
  std::vector<double> out;
  for (std::size_t n = 0; n < nights; ++n) out.push_back(level(n) + kNightDeviation * noise.next());
  return out;
}

std::optional<ScreenFinding> screen_on(const std::vector<double>& logs, std::size_t night) {
  return screen({logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(night + 1)});
}

double crept_until(std::size_t night) {
  return night < kLevelNights ? 0.0 : kPerNight * static_cast<double>(night - kLevelNights + 1);
}

}  // namespace

Proportion creeps_found(NoiseKind noise, std::size_t series, std::uint64_t seed) {
  const auto found = replicate(series, [&](std::size_t i) -> char {
    const auto logs = draw_levels(noise, kLevelNights + kCreepNights, seed, i, crept_until);
    for (auto n = kLevelNights; n < logs.size(); ++n) {
      const auto shift = screen_on(logs, n);
      if (shift && shift->shift_log > 0 && crept_until(n) - crept_until(shift->good) >= kSeenByPairs) return 1;
    }
    return 0;
  });
  return wilson(static_cast<std::uint64_t>(std::count(found.begin(), found.end(), 1)), series);
}

Proportion steps_called_creeps(NoiseKind noise, std::size_t series, std::uint64_t seed) {
  struct Screens {
    std::uint64_t all = 0;
    std::uint64_t creeps = 0;
  };
  const auto counts = replicate(series, [&](std::size_t i) -> Screens {
    const auto logs = draw_levels(noise, kHistoryNights + kStepNights, seed, i,
                                  [](std::size_t n) { return n >= kHistoryNights ? kStep : 0.0; });
    Screens out;
    for (auto n = kHistoryNights; n < logs.size(); ++n) {
      const auto shift = screen_on(logs, n);
      out.all += shift ? 1 : 0;
      out.creeps += shift && shift->creep_log != 0 ? 1 : 0;
    }
    return out;
  });
  Screens sum;
  for (const auto& one : counts) {
    sum.all += one.all;
    sum.creeps += one.creeps;
  }
  return wilson(sum.creeps, std::max<std::uint64_t>(1, sum.all));
}

std::vector<SelftestResult> creep_rates(std::size_t series, std::uint64_t seed) {
  std::vector<SelftestResult> out;
  for (const auto noise : {NoiseKind::gaussian, NoiseKind::ar1_03, NoiseKind::spiky}) {
    const auto name = std::string(spec::enum_name(noise));
    out.push_back(
        rate_row(SelftestKind::delay, name, "+0.2 % a night: within 30 nights one 3 % after its last good night",
                 creeps_found(noise, series, seed), SelftestGoal{.rule = GoalRule::value_at_least, .limit = 0.8}));
    out.push_back(rate_row(SelftestKind::delay, name, "+3 % at once, of its screens: taken for a creep",
                           steps_called_creeps(noise, series, seed),
                           SelftestGoal{.rule = GoalRule::value_at_most, .limit = 0.02}));
  }
  return out;
}

}  // namespace perfbench::harness
