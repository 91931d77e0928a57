#include "harness/selftest/noise_change_rates.h"

#include <algorithm>
#include <span>
#include <string>

#include "harness/selftest/screen_rates.h"
#include "harness/stats/noise_change.h"
#include "harness/stats/screen.h"

namespace perfbench::harness {
namespace {

constexpr std::uint64_t kNoiseChangePurpose = 41;
constexpr std::size_t kNightsToName = 40;

std::vector<double> draw_changing_noise(NoiseKind kind, std::size_t nights, double factor, std::uint64_t seed,
                                        std::size_t index) {
  Noise noise(kind, series_random(seed, kind, kNoiseChangePurpose, index));
  std::vector<double> out;
  for (std::size_t n = 0; n < nights; ++n) {
    out.push_back(kNightDeviation * noise.next() * (n >= kHistoryNights ? factor : 1.0));
  }
  return out;
}

bool is_noisier(const std::vector<double>& logs, std::size_t night) {
  return find_noise_change(nights_screened(std::span(logs).first(night + 1))).has_value();
}

}  // namespace

Proportion doubled_noise_found(NoiseKind noise, std::size_t series, std::uint64_t seed) {
  const auto found = replicate(series, [&](std::size_t i) -> char {
    const auto logs = draw_changing_noise(noise, kHistoryNights + kNightsToName, 2, seed, i);
    for (auto n = kHistoryNights; n < logs.size(); ++n) {
      if (is_noisier(logs, n)) return 1;
    }
    return 0;
  });
  return wilson(static_cast<std::uint64_t>(std::count(found.begin(), found.end(), 1)), series);
}

SelftestResult screens_after_doubled_noise(NoiseKind noise, std::size_t series_years, std::uint64_t seed) {
  const auto screens = replicate(series_years, [&](std::size_t i) {
    return count_screens(
        screened_nights(draw_changing_noise(noise, kHistoryNights + kYear, 2, seed, i), Screening::all_nights));
  });
  return mean_of_years(noise, "screens in the year after its noise doubled", screens);
}

SelftestResult noisier_nights(NoiseKind noise, std::size_t series_years, std::uint64_t seed) {
  const auto nights = replicate(series_years, [&](std::size_t i) {
    const auto logs = draw_changing_noise(noise, kHistoryNights + kYear, 1, seed, i);
    double out = 0;
    for (auto n = kHistoryNights; n < logs.size(); ++n) out += is_noisier(logs, n) ? 1 : 0;
    return out;
  });
  return mean_of_years(noise, "nights a series-year that are called noisier", nights);
}

std::vector<SelftestResult> noise_change_rates(std::size_t series, std::size_t series_years, std::uint64_t seed) {
  std::vector<SelftestResult> out;
  for (const auto noise : {NoiseKind::gaussian, NoiseKind::ar1_06, NoiseKind::spiky}) {
    out.push_back(rate_row(SelftestKind::delay, std::string(spec::enum_name(noise)),
                           "noise doubles: called noisier within 40 nights", doubled_noise_found(noise, series, seed)));
    out.push_back(screens_after_doubled_noise(noise, series_years, seed));
    out.push_back(noisier_nights(noise, series_years, seed));
    out.back().goal = SelftestGoal{.rule = GoalRule::value_at_most, .limit = 0.5};
  }
  return out;
}

}  // namespace perfbench::harness
