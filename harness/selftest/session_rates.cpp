#include "harness/selftest/session_rates.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "harness/judge/compare.h"
#include "harness/judge/session_levels.h"
#include "harness/selftest/pair_rates.h"
#include "harness/selftest/simulation.h"
#include "harness/stats/false_discovery.h"
#include "harness/stats/statistics.h"
#include "harness/system/utc.h"
#include "reports/render/format/number.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

constexpr std::uint64_t kShiftPurpose = 3;
constexpr std::uint64_t kSessionRunPurpose = 4;
constexpr std::uint64_t kDayPurpose = 6;
constexpr const char* kMetric = "step_time_s";
constexpr const char* kMachine = "machine";
constexpr double kProbe_s = 0.001;
constexpr std::int64_t kSecondsOfDay = 86400;

std::string utc_of_day(std::int64_t day) {
  return on_day("1970-01-01", std::chrono::sys_days(std::chrono::days(day)));
}

// The facts that all simulated attempts share.
struct Machine {
  std::shared_ptr<const spec::RunSpec> run = std::make_shared<const spec::RunSpec>();
  std::shared_ptr<const StoredEnvironment> environment = std::make_shared<const StoredEnvironment>(
      StoredEnvironment{.machine_fingerprint = kMachine, .facts = {{"cpu_model", "m"}}});
};

struct DrawnSession {
  std::string sweep_id;
  std::int64_t day = 0;
  double shift = 0;
  std::vector<std::vector<double>> logs;  // by cell and run
};

// The sessions of one trial, drawn in the order of time.
class SimulatedSessions {
 public:
  SimulatedSessions(const SessionScenario& scenario, std::uint64_t seed, std::size_t trial)
      : scenario_(scenario),
        shifts_(scenario.noise, series_random(seed, scenario.noise, kShiftPurpose, trial)),
        days_(scenario.noise, series_random(seed, scenario.noise, kDayPurpose, trial)),
        random_(series_random(seed, scenario.noise, kSessionRunPurpose, trial)) {}

  // The next session of the store.
  DrawnSession next_known() {
    const auto of_day = sessions_ % scenario_.sessions_a_day;
    if (of_day == 0) begin_day(sessions_ == 0 ? 0 : 1);
    return draw(1);
  }
  // The last session, whose program is `ratio` times as slow as that of the first session.
  DrawnSession last(double ratio) {
    begin_day(static_cast<std::int64_t>(scenario_.days_to_last));
    return draw(ratio);
  }

  // The runs as the store has them.
  std::vector<CellRuns> runs_of(const DrawnSession& session) {
    std::vector<CellRuns> out;
    for (std::size_t c = 0; c < session.logs.size(); ++c) {
      const auto name = std::to_string(c);
      out.push_back({.matrix = "m", .label = name, .run_id = name, .attempts = {}});
      for (const double log : session.logs[c]) out.back().attempts.push_back(attempt(session, name, log));
    }
    return out;
  }

 private:
  void begin_day(std::int64_t days_later) {
    day_ += days_later;
    if (scenario_.day_per_run > 0) day_shift_ = kRunDeviation * scenario_.day_per_run * days_.next();
  }

  // The logs of all cells' runs in the next session of the day.
  DrawnSession draw(double ratio) {
    DrawnSession out{.sweep_id = "session" + std::to_string(++sessions_),
                     .day = day_,
                     .shift = day_shift_ + kRunDeviation * scenario_.session_per_run * shifts_.next(),
                     .logs = {}};
    out.logs.resize(scenario_.cells);
    for (auto& cell : out.logs) {
      for (std::size_t r = 0; r < scenario_.runs; ++r) {
        cell.push_back(std::log(ratio) + out.shift + kRunDeviation * normal_(random_));
      }
    }
    return out;
  }

  StoredAttempt attempt(const DrawnSession& session, const std::string& cell, double log) {
    StoredAttempt out;
    out.key = ++attempts_;
    out.run_id = out.cell = cell;
    out.sweep_id = session.sweep_id;
    out.matrix = "m";
    out.started_utc = utc_of_day(session.day);
    out.run = machine_.run;
    out.environment = machine_.environment;
    out.metrics = {{kMetric, std::exp(log)},
                   {"probe_time_s", kProbe_s * std::exp(scenario_.probe_share * session.shift)},
                   {"probe_spread_fraction", 0.0}};
    return out;
  }

  const SessionScenario& scenario_;
  Machine machine_;
  Noise shifts_;
  Noise days_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_{0.0, 1.0};
  std::size_t sessions_ = 0;
  std::int64_t attempts_ = 0;
  std::int64_t day_ = 0;
  double day_shift_ = 0;
};

// The result of load_history for a store with these sessions: each cell has one night for each session, with the median
// as its level.
class SeriesByCell {
 public:
  explicit SeriesByCell(std::size_t cells) : series_(cells) {}

  void add(const DrawnSession& session) {
    for (std::size_t c = 0; c < session.logs.size(); ++c) {
      series_[c].matrix = "m";
      series_[c].run_id = std::to_string(c);
      NightPoint night;
      night.night.sweep_id = session.sweep_id;
      night.machine = kMachine;
      night.started_s = kSecondsOfDay * session.day;
      night.runs = session.logs[c].size();
      night.value = std::exp(median(session.logs[c]));
      series_[c].nights.push_back(std::move(night));
    }
  }
  const std::vector<SeriesHistory>& series() const { return series_; }

 private:
  std::vector<SeriesHistory> series_;
};

struct Count {
  bool named = false;
  std::size_t regressed = 0;
  std::size_t same = 0;
};

Count compare_once(const SessionScenario& scenario, std::uint64_t seed, std::size_t trial) {
  SimulatedSessions sessions(scenario, seed, trial);
  const auto first = sessions.next_known();
  SeriesByCell history(scenario.cells);
  history.add(first);
  for (std::size_t n = 0; n < scenario.nights; ++n) history.add(sessions.next_known());
  const auto last = sessions.last(scenario.ratio);
  history.add(last);
  const RunBaseline baseline{.scope = "baseline", .cells = sessions.runs_of(first)};
  auto found = compare_with_runs(sessions.runs_of(last), baseline, kMetric, session_levels(history.series()));
  control_false_discoveries(tested_decisions(found), DecisionRule{}.alpha);
  Count out;
  for (const auto& cell : found) {
    const auto verdict = cell.decision.verdict;
    out.regressed += verdict == Verdict::regressed;
    out.same += verdict == Verdict::same;
    out.named = out.named || verdict == Verdict::regressed || verdict == Verdict::improved;
  }
  return out;
}

SelftestResult session_row(SelftestKind kind, const SessionScenario& scenario, std::string measure,
                           const Proportion& p) {
  const auto other = scenario.noise == NoiseKind::gaussian ? "" : fmt::format("{} ", spec::enum_name(scenario.noise));
  const auto probe = scenario.probe_share > 0 ? ", probe follows" : "";
  const auto days = scenario.day_per_run > 0 ? fmt::format(", days {} x", scenario.day_per_run) : "";
  return rate_row(kind, fmt::format("{}sessions {} x runs{}{}", other, scenario.session_per_run, days, probe),
                  std::move(measure), p);
}

}  // namespace

SessionRates simulate_sessions(const SessionScenario& scenario, std::size_t trials, std::uint64_t seed) {
  const auto counts = replicate(trials, [&](std::size_t trial) { return compare_once(scenario, seed, trial); });
  const auto named = std::count_if(counts.begin(), counts.end(), [](const Count& c) { return c.named; });
  const auto sum = [&](std::size_t Count::*member) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                           [&](std::uint64_t total, const Count& c) { return total + c.*member; });
  };
  const auto cells = trials * scenario.cells;
  return {.false_in_any = wilson(static_cast<std::uint64_t>(named), trials),
          .regressed = wilson(sum(&Count::regressed), cells),
          .same = wilson(sum(&Count::same), cells)};
}

std::vector<SelftestResult> session_aa_rates(std::size_t trials, std::uint64_t seed) {
  std::vector<SessionScenario> scenarios;
  for (const std::size_t cells : {1U, 12U}) {
    scenarios.push_back({.session_per_run = 3, .nights = 0, .cells = cells});
    for (const double ratio : {0.5, 3.0}) scenarios.push_back({.session_per_run = ratio, .nights = 5, .cells = cells});
    for (const double ratio : {0.0, 0.5, 1.0, 2.0, 3.0, 6.0}) {
      scenarios.push_back({.session_per_run = ratio, .nights = 10, .cells = cells});
    }
  }
  scenarios.push_back({.session_per_run = 3, .probe_share = 1});
  for (const auto noise : kNoiseKinds) {
    if (noise != NoiseKind::gaussian) scenarios.push_back({.session_per_run = 3, .noise = noise});
  }
  // One of six sessions within a day is the baseline, for a session ten days later; or every session is on a day of its
  // own.
  const SessionScenario of_days{.session_per_run = 0.25, .nights = 5, .days_to_last = 10, .day_per_run = 2};
  for (const std::size_t a_day : {6U, 1U}) {
    scenarios.push_back(of_days);
    scenarios.back().sessions_a_day = a_day;
  }
  scenarios.back().days_to_last = 1;
  std::vector<SelftestResult> out;
  for (const auto& scenario : scenarios) {
    const auto known = scenario.sessions_a_day == 1 ? fmt::format("{} nights known", scenario.nights)
                                                    : fmt::format("{} others of one day known, {} days before",
                                                                  scenario.nights, scenario.days_to_last);
    const auto measure =
        fmt::format("false verdicts, stored baseline, {}, {}",
                    scenario.cells == 1 ? "a cell" : fmt::format("any of {} cells", scenario.cells), known);
    out.push_back(
        session_row(SelftestKind::aa, scenario, measure, simulate_sessions(scenario, trials, seed).false_in_any));
    out.back().goal = SelftestGoal{.rule = GoalRule::high_at_most, .limit = 2 * DecisionRule{}.alpha};
  }
  return out;
}

std::vector<SelftestResult> session_power(std::size_t trials, std::uint64_t seed) {
  std::vector<SelftestResult> out;
  for (const double sessions : {0.0, 0.5, 1.0, 3.0}) {
    for (const std::size_t nights : {10U, 40U}) {
      for (const double slowdown : {0.02, 0.05, 0.10}) {
        const SessionScenario scenario{.session_per_run = sessions, .nights = nights, .ratio = 1 + slowdown};
        out.push_back(session_row(
            SelftestKind::power, scenario,
            fmt::format("{} slower found, stored baseline, {} nights known", reports::format_percent(slowdown), nights),
            simulate_sessions(scenario, trials, seed).regressed));
      }
    }
  }
  return out;
}

}  // namespace perfbench::harness
