#include "harness/selftest/screen_rates.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "harness/selftest/simulation.h"
#include "harness/stats/log_difference.h"
#include "harness/stats/proportion.h"
#include "harness/stats/statistics.h"

namespace perfbench::harness {
namespace {

constexpr std::uint64_t kSeriesPurpose = 2;

struct YearCount {
  double screens = 0;
  double nights = 0;
};

// Multiplies both ends, which is a little wider than 95 %. Pairs confirm only a shift in the direction of the screen.
// That is half of their false verdicts, because the sides of an unchanged cell are the same.
SelftestResult confirmed_row(SelftestResult nights, const SelftestResult& aa) {
  constexpr double kSameDirection = 0.5;
  nights.measure = "alarms a series-year, confirmed by 8 pairs";
  nights.value *= kSameDirection * aa.value;
  nights.low *= kSameDirection * aa.low;
  nights.high *= kSameDirection * aa.high;
  nights.goal = SelftestGoal{.rule = GoalRule::high_at_most, .limit = 0.05};
  return nights;
}

double delay_of(const SeriesPlan& plan, std::uint64_t seed, std::uint64_t index) {
  const auto nights = screened_nights(simulate_series(plan, seed, index), Screening::until_it_speaks);
  return static_cast<double>(nights.empty() ? kMostDelay + 1 : nights.front() + 1 - plan.first_shifted);
}

SelftestResult delay_row(NoiseKind kind, double sigma, std::vector<double> nights) {
  std::sort(nights.begin(), nights.end());
  const auto n = nights.size();
  const auto rank = median_bound(n);
  return {.kind = SelftestKind::delay,
          .noise = std::string(spec::enum_name(kind)),
          .measure = fmt::format("median nights to find {} sigma", sigma),
          .value = median(nights),
          .low = nights[rank],
          .high = nights[n - 1 - rank]};
}

}  // namespace

std::vector<double> simulate_series(const SeriesPlan& plan, std::uint64_t seed, std::uint64_t index) {
  Noise noise(plan.noise, series_random(seed, plan.noise, kSeriesPurpose, index));
  std::vector<double> out;
  for (std::size_t n = 0; n < plan.nights; ++n) {
    out.push_back(kNightDeviation * (noise.next() + (n >= plan.first_shifted ? plan.shift_sigma : 0.0)));
  }
  return out;
}

double count_screens(const std::vector<std::size_t>& nights) {
  double out = 0;
  for (std::size_t i = 0; i < nights.size(); ++i) out += i == 0 || nights[i] != nights[i - 1] + 1;
  return out;
}

std::vector<std::size_t> screened_nights(const std::vector<double>& series, Screening how, const ScreenRule& rule) {
  std::vector<std::size_t> out;
  for (auto n = kHistoryNights; n < series.size(); ++n) {
    if (!screen({series.begin(), series.begin() + static_cast<std::ptrdiff_t>(n + 1)}, rule)) continue;
    out.push_back(n);
    if (how == Screening::until_it_speaks) break;
  }
  return out;
}

SelftestResult mean_of_years(NoiseKind kind, std::string measure, const std::vector<double>& counts) {
  const auto mean = mean_difference(counts);
  const auto [low, high] = mean.interval(0.95);
  return {.kind = SelftestKind::false_alarms,
          .noise = std::string(spec::enum_name(kind)),
          .measure = std::move(measure),
          .value = mean.mean,
          .low = std::max(0.0, low),
          .high = high};
}

std::vector<SelftestResult> false_alarms(std::size_t series_years, const std::vector<SelftestResult>& aa,
                                         std::uint64_t seed) {
  std::vector<SelftestResult> out;
  for (std::size_t k = 0; k < kNoiseKinds.size(); ++k) {
    const auto kind = kNoiseKinds[k];
    const SeriesPlan plan{.noise = kind, .nights = kHistoryNights + kYear, .first_shifted = kHistoryNights + kYear};
    const auto years = replicate(series_years, [&](std::size_t i) {
      const auto nights = screened_nights(simulate_series(plan, seed, i), Screening::all_nights);
      return YearCount{.screens = count_screens(nights), .nights = static_cast<double>(nights.size())};
    });
    std::vector<double> screens;
    std::vector<double> nights;
    for (const auto& y : years) {
      screens.push_back(y.screens);
      nights.push_back(y.nights);
    }
    out.push_back(mean_of_years(kind, "screens a series-year", screens));
    out.push_back(mean_of_years(kind, "nights above the threshold a series-year", nights));
    out.push_back(confirmed_row(out.back(), aa.at(k)));
  }
  return out;
}

std::vector<SelftestResult> delays(std::size_t series, std::uint64_t seed) {
  std::vector<SelftestResult> out;
  for (const double sigma : {1.0, 2.0, 3.0, 5.0}) {
    for (const auto kind : kNoiseKinds) {
      const SeriesPlan plan{
          .noise = kind, .nights = kHistoryNights + kMostDelay, .first_shifted = kHistoryNights, .shift_sigma = sigma};
      out.push_back(delay_row(kind, sigma, replicate(series, [&](std::size_t i) { return delay_of(plan, seed, i); })));
      if (sigma == 2) out.back().goal = SelftestGoal{.rule = GoalRule::value_at_most, .limit = 3};
      if (sigma == 5) out.back().goal = SelftestGoal{.rule = GoalRule::value_at_most, .limit = 1};
    }
  }
  return out;
}

}  // namespace perfbench::harness
