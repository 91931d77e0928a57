#include "harness/selftest/after_shift.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "harness/selftest/screen_rates.h"
#include "harness/selftest/simulation.h"
#include "harness/stats/proportion.h"
#include "harness/stats/screen.h"

namespace perfbench::harness {
namespace {

constexpr std::uint64_t kTwoShiftsPurpose = 5;
constexpr std::size_t kNightsToFind = 3;

struct KnownShifts {
  FirstShift rule = FirstShift::accepted;
  std::vector<std::size_t> first_shifted;
};

std::optional<ScreenFinding> screen_up_to(const std::vector<double>& series, std::size_t night,
                                          const KnownShifts& known) {
  const auto end = series.begin() + static_cast<std::ptrdiff_t>(night + 1);
  std::vector<double> logs{series.begin(), end};
  if (known.rule == FirstShift::accepted) logs = at_newest_level(std::move(logs), known.first_shifted);
  return screen(logs);
}

bool same_direction(double a, double b) {
  return (a > 0) == (b > 0);
}

// The nights of one series with one or two shifts.
class ShiftedSeries {
 public:
  ShiftedSeries(const TwoShifts& shifts, std::size_t nights, std::uint64_t seed, std::uint64_t index)
      : shifts_(shifts) {
    Noise noise(NoiseKind::gaussian, series_random(seed, NoiseKind::gaussian, kTwoShiftsPurpose, index));
    for (std::size_t n = 0; n < nights; ++n) {
      double level = 0;
      if (n >= kNightsBeforeShift) level += std::log(shifts.first_ratio);
      if (shifts.nights_between > 0 && n >= second()) level += std::log(shifts.second_ratio);
      logs_.push_back(level + kNightDeviation * noise.next());
    }
  }
  std::size_t second() const { return kNightsBeforeShift + shifts_.nights_between; }

  KnownShifts first_shift(FirstShift rule, std::size_t nights_to_look) const {
    KnownShifts out{.rule = rule, .first_shifted = {}};
    if (rule == FirstShift::ignored) return out;
    for (auto n = kNightsBeforeShift; n < kNightsBeforeShift + nights_to_look; ++n) {
      const auto found = screen_up_to(logs_, n, out);
      if (!found || found->first > kNightsBeforeShift) continue;
      if (!same_direction(found->shift_log, std::log(shifts_.first_ratio))) continue;
      out.first_shifted = {found->first};
      return out;
    }
    out.first_shifted = {kNightsBeforeShift};
    return out;
  }

  bool finds_second(const KnownShifts& known) const {
    for (auto n = second(); n < second() + kNightsToFind; ++n) {
      const auto found = screen_up_to(logs_, n, known);
      if (found && same_direction(found->shift_log, std::log(shifts_.second_ratio))) return true;
    }
    return false;
  }

  double screens_from(std::size_t night, const KnownShifts& known) const {
    double screens = 0;
    bool before = false;
    for (auto n = night; n < logs_.size(); ++n) {
      const bool now = screen_up_to(logs_, n, known).has_value();
      screens += now && !before;
      before = now;
    }
    return screens;
  }

 private:
  TwoShifts shifts_;
  std::vector<double> logs_;
};

std::uint64_t count_found(const TwoShifts& shifts, FirstShift first, std::size_t series, std::uint64_t seed) {
  const auto found = replicate(series, [&](std::size_t i) -> char {
    const auto nights = kNightsBeforeShift + shifts.nights_between + kNightsToFind;
    const ShiftedSeries one(shifts, nights, seed, i);
    return one.finds_second(one.first_shift(first, std::min(kMostDelay, shifts.nights_between))) ? 1 : 0;
  });
  return static_cast<std::uint64_t>(std::count(found.begin(), found.end(), 1));
}

SelftestResult found_row(const TwoShifts& shifts, std::size_t series, std::uint64_t seed) {
  return rate_row(SelftestKind::delay, "gaussian",
                  fmt::format("{}: second found within {} nights", shifts.name, kNightsToFind),
                  wilson(count_found(shifts, FirstShift::accepted, series, seed), series),
                  SelftestGoal{.rule = GoalRule::value_at_least, .limit = 0.9});
}

SelftestResult year_row(double ratio, const std::string& name, std::size_t years, std::uint64_t seed) {
  const TwoShifts shifts{.name = name, .first_ratio = ratio};
  const auto quiet_from = kNightsBeforeShift + kMostDelay;
  const auto counts = replicate(years, [&](std::size_t i) {
    const ShiftedSeries one(shifts, quiet_from + kYear, seed, i);
    return one.screens_from(quiet_from, one.first_shift(FirstShift::accepted, kMostDelay));
  });
  auto out = mean_of_years(NoiseKind::gaussian, "screens in the year after " + name, counts);
  out.goal = SelftestGoal{.rule = GoalRule::value_at_most, .limit = 2.5};
  return out;
}

}  // namespace

double second_shift_found(const TwoShifts& shifts, FirstShift first, std::size_t series, std::uint64_t seed) {
  return static_cast<double>(count_found(shifts, first, series, seed)) / static_cast<double>(series);
}

std::vector<SelftestResult> after_shift_rates(std::size_t series, std::size_t series_years, std::uint64_t seed) {
  const std::array rows{TwoShifts{"-30 %, 40 nights later +20 %", 0.7, 1.2, 40},
                        TwoShifts{"+3 %, 40 nights later +3 %", 1.03, 1.03, 40},
                        TwoShifts{"-10 %, reverted after 15 nights", 0.9, 1 / 0.9, 15}};
  std::vector<SelftestResult> out;
  for (const auto& row : rows) out.push_back(found_row(row, series, seed));
  for (const auto& [ratio, name] : {std::pair{0.7, "-30 %"}, {1.03, "+3 %"}, {0.9, "-10 %"}}) {
    out.push_back(year_row(ratio, name, series_years, seed));
  }
  return out;
}

}  // namespace perfbench::harness
