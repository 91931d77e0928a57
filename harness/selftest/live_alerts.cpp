#include "harness/selftest/live_alerts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>

#include "harness/judge/alert_rules.h"
#include "harness/selftest/after_shift.h"
#include "harness/selftest/screen_rates.h"
#include "harness/selftest/simulation.h"
#include "harness/stats/screen.h"
#include "harness/system/utc.h"

namespace perfbench::harness {
namespace {

constexpr std::uint64_t kLiveAlertPurpose = 31;
constexpr double kFirstRatio = 1.03;
constexpr std::size_t kBetween = 45;      // nights from one regression to the other
constexpr std::size_t kNightsToOpen = 3;  // nights within which the second regression should open an alert
constexpr std::size_t kNightsUnmended = 180;

NightId night_id(std::size_t night) {
  const auto utc = on_day("1970-01-01", std::chrono::sys_days(std::chrono::days(night)));
  return {.sweep_id = fmt::format("night{}", night), .started_utc = utc, .revision = fmt::format("{:040x}", night)};
}

// The finding of a shift that pairs confirmed, with the screen's date.
Finding finding_from(std::size_t first_shifted, double ratio, std::size_t seen) {
  return {.series = {.matrix = "m", .cell = "c", .run_id = "r", .metric = "step_time_s", .machine = "machine"},
          .kind = FindingKind::regression,
          .ratio = ratio,
          .last_good = night_id(first_shifted - 1),
          .first_bad = night_id(first_shifted),
          .seen_utc = night_id(seen).started_utc,
          .confirmation = {"pairs"}};
}

Alert alert_in(AlertState state) {
  Alert out{.alert_id = "1", .finding = finding_from(kNightsBeforeShift, kFirstRatio, kNightsBeforeShift + 1)};
  const auto at = out.finding.seen_utc;
  out.events.push_back({.from = {}, .to = AlertState::open, .author = "a", .reason = "r", .at_utc = at});
  if (state != AlertState::open) out.events.push_back(transition(out, state, "a", "r", at));
  return out;
}

std::vector<double> draw_nights(std::size_t nights, double second_ratio, std::uint64_t seed, std::size_t index) {
  Noise noise(NoiseKind::gaussian, series_random(seed, NoiseKind::gaussian, kLiveAlertPurpose, index));
  std::vector<double> out;
  for (std::size_t n = 0; n < nights; ++n) {
    double level = n >= kNightsBeforeShift ? std::log(kFirstRatio) : 0;
    if (n >= kNightsBeforeShift + kBetween) level += std::log(second_ratio);
    out.push_back(level + kNightDeviation * noise.next());
  }
  return out;
}

std::vector<double> up_to(const std::vector<double>& logs, std::size_t night) {
  return {logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(night + 1)};
}

bool opens_second(double ratio, std::uint64_t seed, std::size_t index) {
  const auto second = kNightsBeforeShift + kBetween;
  const auto logs = draw_nights(second + kNightsToOpen, ratio, seed, index);
  const std::vector<Alert> alerts{alert_in(AlertState::open)};
  const std::array<std::size_t, 1> known{kNightsBeforeShift};
  for (auto n = second; n < second + kNightsToOpen; ++n) {
    const auto found = screen(at_newest_level(up_to(logs, n), known));
    if (!found || found->shift_log <= 0) continue;
    const auto place = place_finding(alerts, finding_from(found->first, std::exp(found->shift_log), n));
    if (place.meaning == FindingMeaning::opens) return true;
  }
  return false;
}

// The share of nights after the shift on which a screen that ignores alerts reports a shift.
Proportion screen_alone(std::size_t series, std::uint64_t seed) {
  const auto counts = replicate(series, [&](std::size_t i) -> std::uint64_t {
    const auto logs = draw_nights(kNightsBeforeShift + kNightsUnmended, 1, seed, i);
    std::uint64_t spoken = 0;
    for (auto n = kNightsBeforeShift; n < logs.size(); ++n) spoken += screen(up_to(logs, n)).has_value() ? 1 : 0;
    return spoken;
  });
  return wilson(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), series * kNightsUnmended);
}

}  // namespace

Proportion nights_that_say(Verdict expected, AlertState state, std::size_t nights) {
  std::uint64_t said = 0;
  for (std::size_t n = 0; n < nights; ++n) {
    auto verdicts = verdicts_of({alert_in(state)});
    verdicts.push_back(Verdict::same);
    said += overall(verdicts) == expected ? 1 : 0;
  }
  return wilson(said, nights);
}

Proportion second_alerts(std::size_t series, std::uint64_t seed) {
  const auto opened = replicate(series, [&](std::size_t i) -> char {
    constexpr std::size_t kSizes = 4;
    return opens_second(1.03 + 0.01 * static_cast<double>(i % kSizes), seed, i) ? 1 : 0;
  });
  return wilson(static_cast<std::uint64_t>(std::count(opened.begin(), opened.end(), 1)), series);
}

std::vector<SelftestResult> live_alert_rates(std::size_t series, std::uint64_t seed) {
  const SelftestGoal all{.rule = GoalRule::value_at_least, .limit = 1};
  const auto said = [&](const char* measure, Verdict expected, AlertState state) {
    return rate_row(SelftestKind::delay, "gaussian", measure, nights_that_say(expected, state, kNightsUnmended), all);
  };
  return {
      rate_row(SelftestKind::delay, "gaussian", "+3 % unrepaired for 180 nights: the screen alone reports it",
               screen_alone(series, seed)),
      said("+3 % unrepaired for 180 nights: exit 1 while its alert is open", Verdict::regressed, AlertState::open),
      said("+3 % unrepaired for 180 nights: exit 2 while it is acknowledged", Verdict::inconclusive,
           AlertState::acknowledged),
      said("+3 % unrepaired for 180 nights: exit 0 once nobody wants it repaired", Verdict::same, AlertState::wont_fix),
      rate_row(SelftestKind::delay, "gaussian",
               "open +3 %, 45 nights later +3 to +6 %: an alert of its own within 3 nights",
               second_alerts(series, seed), SelftestGoal{.rule = GoalRule::value_at_least, .limit = 0.9})};
}

}  // namespace perfbench::harness
