#include "harness/selftest/budget_rates.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <utility>

#include "harness/judge/screening.h"
#include "harness/selftest/screen_rates.h"
#include "harness/selftest/simulation.h"
#include "harness/stats/proportion.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kNightsOfBudget = 3;
constexpr std::array kMetricNoise{NoiseKind::gaussian, NoiseKind::ar1_06, NoiseKind::spiky};

SelftestResult found_within_budget_row(double sigma, const char* of, const ScreenRule& rule, std::size_t series,
                                       std::uint64_t seed) {
  const SeriesPlan plan{
      .nights = kHistoryNights + kNightsOfBudget, .first_shifted = kHistoryNights, .shift_sigma = sigma};
  const auto found = replicate(series, [&](std::size_t i) -> char {
    return screened_nights(simulate_series(plan, seed, i), Screening::until_it_speaks, rule).empty() ? 0 : 1;
  });
  return rate_row(SelftestKind::delay, "gaussian",
                  fmt::format("{} sigma found within {} nights, {}", sigma, kNightsOfBudget, of),
                  wilson(static_cast<std::uint64_t>(std::count(found.begin(), found.end(), 1)), series));
}

}  // namespace

SelftestResult screens_a_night(const ScreenRule& rule, std::size_t cell_years, std::uint64_t seed) {
  const auto nightly = replicate(cell_years, [&](std::size_t i) {
    double screens = 0;
    for (const auto noise : kMetricNoise) {
      const SeriesPlan plan{.noise = noise, .nights = kHistoryNights + kYear, .first_shifted = kHistoryNights + kYear};
      screens += count_screens(screened_nights(simulate_series(plan, seed, i), Screening::all_nights, rule));
    }
    return screens * static_cast<double>(kCellsOfMatrix) / static_cast<double>(kYear);
  });
  auto out = mean_of_years(NoiseKind::gaussian,
                           fmt::format("screens a night, {} cells with 3 noisy metrics", kCellsOfMatrix), nightly);
  out.noise = "three kinds";
  return out;
}

SelftestResult screens_of_both_steps(const ScreenRule& of_median, const ScreenRule& of_mean, std::size_t cell_years,
                                     std::uint64_t seed) {
  const SeriesPlan plan{.nights = kHistoryNights + kYear, .first_shifted = kHistoryNights + kYear};
  const auto yearly = replicate(cell_years, [&](std::size_t i) {
    const auto median = simulate_series(plan, seed, 2 * i);
    auto mean = simulate_series(plan, seed, 2 * i + 1);
    for (std::size_t n = 0; n < mean.size(); ++n) mean[n] = (mean[n] + median[n]) / std::numbers::sqrt2;
    auto nights = screened_nights(median, Screening::all_nights, of_median);
    const auto more = screened_nights(mean, Screening::all_nights, of_mean);
    nights.insert(nights.end(), more.begin(), more.end());
    std::sort(nights.begin(), nights.end());
    nights.erase(std::unique(nights.begin(), nights.end()), nights.end());
    return count_screens(nights);
  });
  return mean_of_years(NoiseKind::gaussian, "screens a cell-year, median and mean step", yearly);
}

std::vector<SelftestResult> budget_rates(std::size_t series, std::size_t cell_years, std::uint64_t seed) {
  const ScreenBudget budget;
  const auto within = rule_within(budget, kSeriesOfMatrix);
  std::vector<SelftestResult> out{screens_a_night(within, cell_years, seed)};
  out.back().goal = SelftestGoal{.rule = GoalRule::value_at_most, .limit = budget.screens_per_night};
  out.push_back(screens_of_both_steps(with_share({}, kScreenedMetrics[0].share),
                                      with_share({}, kScreenedMetrics[1].share), cell_years, seed));
  out.back().goal = SelftestGoal{.rule = GoalRule::value_at_most, .limit = 2.5};
  const std::array<std::pair<const char*, ScreenRule>, 2> rules{
      {{"of a single cell", ScreenRule{}}, {"of 200 cells with 3 noisy metrics", within}}};
  for (const double sigma : {2.0, 3.0, 5.0, 8.0}) {
    for (const auto& [of, rule] : rules) out.push_back(found_within_budget_row(sigma, of, rule, series, seed));
  }
  return out;
}

}  // namespace perfbench::harness
