#include "harness/stats/between_sessions.h"

#include <algorithm>
#include <array>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <cstdlib>

namespace perfbench::harness {
namespace {

double mean_log(const std::vector<double>& logs) {
  return boost::math::statistics::mean(logs);
}

// Scatter within sessions: the sum of squares around each session's mean, and its degrees of freedom.
struct Within {
  double squares = 0;
  double freedom = 0;
};

void add_within(const SessionRuns& runs, Within& out) {
  std::map<std::string, std::vector<double>> by_session;
  for (std::size_t i = 0; i < runs.logs.size(); ++i) by_session[runs.sessions[i]].push_back(runs.logs[i]);
  for (const auto& [session, logs] : by_session) {
    const double middle = mean_log(logs);
    for (const double log : logs) out.squares += (log - middle) * (log - middle);
    out.freedom += static_cast<double>(logs.size() - 1);
  }
}

// Keeps the newest session of each day, and every session whose day is unknown.
std::vector<const SessionLevel*> one_a_day(const std::vector<const SessionLevel*>& levels) {
  std::vector<const SessionLevel*> out;
  for (const auto* level : levels) {
    const auto same_day = std::find_if(out.begin(), out.end(), [&](const SessionLevel* known) {
      return known->day.has_value() && known->day == level->day;
    });
    if (same_day != out.end()) {
      *same_day = level;
    } else {
      out.push_back(level);
    }
  }
  return out;
}

std::optional<std::int64_t> covered_days(const std::vector<const SessionLevel*>& levels) {
  std::vector<std::int64_t> days;
  for (const auto* level : levels) {
    if (level->day) days.push_back(*level->day);
  }
  if (days.size() < 2) return std::nullopt;
  const auto [first, last] = std::minmax_element(days.begin(), days.end());
  const auto count = static_cast<std::int64_t>(days.size());
  return (*last - *first) * (count + 1) / (count - 1);
}

}  // namespace

std::string session_name(const std::string& sweep_id) {
  return "sweep " + sweep_id;
}

SessionSpread session_spread(const std::vector<SessionLevel>& levels, const SessionRuns& a, const SessionRuns& b) {
  const auto has = [](const SessionRuns& side, const std::string& session) {
    return std::find(side.sessions.begin(), side.sessions.end(), session) != side.sessions.end();
  };
  std::vector<const SessionLevel*> others;
  for (const auto& level : levels) {
    const auto session = session_name(level.sweep_id);
    if (!has(a, session) && !has(b, session)) others.push_back(&level);
  }
  others = one_a_day(others);
  SessionSpread out;
  std::vector<double> logs;
  for (const auto* level : others) {
    logs.push_back(level->log_level);
    out.runs_share += 1 / static_cast<double>(level->runs);
  }
  out.sessions = logs.size();
  if (logs.size() < 2) return out;
  out.runs_share /= static_cast<double>(logs.size());
  out.deviation = std::sqrt(boost::math::statistics::sample_variance(logs));
  out.covered_days = covered_days(others);
  return out;
}

std::optional<std::int64_t> days_apart(const SessionRuns& a, const SessionRuns& b) {
  std::optional<std::int64_t> out;
  for (const auto& mine : a.days) {
    for (const auto& theirs : b.days) {
      if (mine && theirs) out = std::max(out.value_or(0), std::abs(*mine - *theirs));
    }
  }
  return out;
}

bool varies_between_sessions(const std::string& metric) {
  const auto known = spec::find_metric(metric);
  return !known || known->noise == spec::MetricNoise::measured;
}

double session_weight(const SessionRuns& a, const SessionRuns& b) {
  std::map<std::string, double> weights;
  for (const auto& session : a.sessions) weights[session] += 1 / static_cast<double>(a.sessions.size());
  for (const auto& session : b.sessions) weights[session] -= 1 / static_cast<double>(b.sessions.size());
  double out = 0;
  for (const auto& [session, weight] : weights) out += weight * weight;
  constexpr double kRounding = 1e-12;  // covers the rounding of values such as 1/3
  return out < kRounding ? 0 : out;
}

LogDifference session_difference(const SessionRuns& a, const SessionRuns& b, const SessionSpread& spread) {
  LogDifference out{.mean = mean_log(a.logs) - mean_log(b.logs)};
  const double weight = session_weight(a, b);
  const double between = weight * spread.deviation * spread.deviation;
  const double of_runs = 1 / static_cast<double>(a.logs.size()) + 1 / static_cast<double>(b.logs.size());
  const double share = std::max(0.0, of_runs - weight * spread.runs_share);
  const auto levels_freedom = static_cast<double>(spread.sessions - 1);
  Within within;
  add_within(a, within);
  add_within(b, within);
  if (share == 0) {
    out.error = std::sqrt(between);
    out.freedom = levels_freedom;
  } else if (within.freedom > 0) {
    const double of_within = share * within.squares / within.freedom;
    const double all = between + of_within;
    out.error = std::sqrt(all);
    out.freedom = all > 0 ? all * all / (between * between / levels_freedom + of_within * of_within / within.freedom)
                          : levels_freedom;
  }
  return out;
}

}  // namespace perfbench::harness
