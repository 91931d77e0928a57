#include "harness/stats/decision.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/math/special_functions/binomial.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>

#include "harness/stats/log_difference.h"
#include "harness/stats/statistics.h"

namespace perfbench::harness {
namespace {

std::vector<double> newest_logs(const std::vector<double>& values, std::size_t most) {
  const auto skip = values.size() > most ? values.size() - most : 0;
  std::vector<double> out;
  for (auto i = skip; i < values.size(); ++i) out.push_back(std::log(values[i]));
  return out;
}

// Runs whose session is unknown get the session name `unknown`.
SessionRuns newest_runs(const Sample& sample, const std::string& unknown, std::size_t most) {
  SessionRuns out{.logs = newest_logs(sample.values, most), .sessions = {}, .days = {}};
  const auto skip = sample.values.size() - out.logs.size();
  for (auto i = skip; i < sample.values.size(); ++i) {
    const bool known = i < sample.sessions.size() && !sample.sessions[i].empty();
    out.sessions.push_back(known ? session_name(sample.sessions[i]) : unknown);
    if (i < sample.days.size()) out.days.push_back(sample.days[i]);
  }
  return out;
}

double mean(const std::vector<double>& values) {
  return boost::math::statistics::mean(values);
}

std::size_t fewest_runs(double alpha, bool constant) {
  std::size_t n = 1;
  while ((constant ? smallest_p_against_constant(n) : smallest_p(n, n)) >= alpha) ++n;
  return n;
}

// The number of runs a side that would detect a difference of the margin, as advice for the user. nullopt where even
// the largest number that is used would not.
std::string repeats_hint(const LogDifference& difference, std::size_t runs, bool constant, const DecisionRule& rule) {
  const double sides = constant ? 1 : 2;
  const double deviation = difference.error * std::sqrt(static_cast<double>(runs));
  const auto needed =
      values_needed(deviation, std::log1p(rule.margin_fraction), rule.alpha, fewest_runs(rule.alpha, constant), sides);
  if (needed <= runs || needed > rule.most_runs) return "";
  return fmt::format("; {} a side (--repeats {}) would detect {}", needed, needed, percent(rule.margin_fraction));
}

// The part that both tests share once they were able to decide. `p` is the p value of the test.
void judge(Decision& out, const LogDifference& difference, double p, const DecisionRule& rule) {
  out.p = p;
  const double margin = std::log1p(rule.margin_fraction);
  const auto inner = difference.interval(0.90);
  out.detectable_fraction = std::expm1(detectable_log(difference, rule.alpha));
  if (inner.low > -margin && inner.high < margin) {
    return conclude(out, Verdict::same, VerdictReason::equivalent,
                    "the 90 % interval of the ratio lies within +-" + percent(rule.margin_fraction));
  }
  if (p < rule.alpha) {
    return conclude(out, direction_verdict(difference.mean, rule.direction), VerdictReason::significant,
                    fmt::format("p = {:.4f}, below {}", p, rule.alpha));
  }
  conclude(
      out, Verdict::inconclusive, VerdictReason::not_significant,
      fmt::format("p = {:.2f}; this sample detects differences of at least {}", p, percent(*out.detectable_fraction)));
}

bool positive(const std::vector<double>& values) {
  return !values.empty() && std::all_of(values.begin(), values.end(), [](double v) { return v > 0; });
}

// Shows the ratio and concludes nothing from it.
Decision all_noisy(const std::vector<double>& a, const std::vector<double>& b) {
  Decision out;
  out.ratio = std::exp(mean(a) - mean(b));
  out.current_runs = a.size();
  out.baseline_runs = b.size();
  conclude(out, Verdict::inconclusive, VerdictReason::all_noisy,
           "the noise probe moved during every run of a side: see `perfbench doctor`, and run again");
  return out;
}

std::string discarded_note(std::size_t runs) {
  return runs == 0 ? "" : fmt::format("; {} left out because the noise probe moved", runs);
}

std::optional<double> probe_shift(const Sample& current, const Sample& baseline) {
  if (current.probe_s.empty() || baseline.probe_s.empty()) return std::nullopt;
  return std::abs(std::log(median(current.probe_s) / median(baseline.probe_s)));
}

bool speed_changed(const Sample& current, const Sample& baseline, const DecisionRule& rule) {
  return probe_shift(current, baseline).value_or(0) > std::log1p(rule.probe_shift_fraction);
}

void conclude_speed_changed(Decision& out, double shift) {
  conclude(out, Verdict::inconclusive, VerdictReason::machine_speed_changed,
           "the machine ran at another speed: the noise probe's medians differ by " + percent(std::expm1(shift)));
}

std::string sessions_note(const SessionSpread& spread, double doubt) {
  auto out = fmt::format("; {} other sessions of this cell deviate by {}", spread.sessions,
                         percent(std::expm1(spread.deviation)));
  constexpr double kShown = 0.0005;  // tables show steps of 0.1 %
  if (doubt >= kShown) out += fmt::format(", and the noise probe moved by {}", percent(std::expm1(doubt)));
  return out;
}

bool all_zero(const std::vector<double>& values) {
  return !values.empty() && std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

// 0 has no ratio to anything, but it is a valid number: for example the accuracy of a model that has learned nothing.
std::optional<Decision> decide_zeros(const Sample& current, const Sample& baseline, const DecisionRule& rule) {
  const bool current_zero = all_zero(current.values);
  const bool baseline_zero = all_zero(baseline.values);
  if (!current_zero && !baseline_zero) return std::nullopt;
  Decision out;
  out.current_runs = std::min(current.values.size(), rule.most_runs);
  out.baseline_runs = std::min(baseline.values.size(), rule.most_runs);
  const double p = smallest_p(out.current_runs, out.baseline_runs);
  if (current_zero && baseline_zero) {
    conclude(out, Verdict::same, VerdictReason::equivalent, "it is 0 in every run of both sides");
  } else if (!positive(current_zero ? baseline.values : current.values)) {
    return std::nullopt;
  } else if (p >= rule.alpha) {
    conclude(out, Verdict::inconclusive, VerdictReason::too_few_runs,
             fmt::format("one side is 0; {} against {} runs cannot decide at p < {}", out.current_runs,
                         out.baseline_runs, rule.alpha));
  } else {
    out.p = p;
    conclude(out, direction_verdict(current_zero ? -1 : 1, rule.direction), VerdictReason::significant,
             fmt::format("it is 0 in every run of {}, but not on the other side",
                         current_zero ? "this side" : "the baseline"));
  }
  return out;
}

// A side has no run, or none whose probe stayed steady.
std::optional<Decision> nothing_to_decide_on(const Sample& current, const Sample& baseline, const DecisionRule& rule) {
  Decision out;
  if (!positive(shown_values(current)) || !positive(shown_values(baseline))) {
    out.detail = "a side has no run to compare";
    return out;
  }
  if (!current.values.empty() && !baseline.values.empty()) return std::nullopt;
  return all_noisy(newest_logs(shown_values(current), rule.most_runs),
                   newest_logs(shown_values(baseline), rule.most_runs));
}

}  // namespace

double smallest_p(std::size_t current_runs, std::size_t baseline_runs) {
  if (current_runs == 0 || baseline_runs == 0) return 1;
  const auto all = static_cast<unsigned>(current_runs + baseline_runs);
  const auto splits = boost::math::binomial_coefficient<double>(all, static_cast<unsigned>(current_runs));
  // The mirror image of the observed split is as extreme. It is a different split only if both sides have the same
  // size.
  return std::min(1.0, (current_runs == baseline_runs ? 2.0 : 1.0) / splits);
}

double smallest_p_against_constant(std::size_t runs) {
  return runs == 0 ? 1 : std::ldexp(2.0, -static_cast<int>(runs));
}

DecisionRule decision_rule(const MetricRule& metric) {
  return {.direction = metric.direction, .margin_fraction = metric.margin_fraction};
}

std::vector<double> all_values(const Sample& sample) {
  auto out = sample.values;
  out.insert(out.end(), sample.noisy.begin(), sample.noisy.end());
  return out;
}

const std::vector<double>& shown_values(const Sample& sample) {
  return sample.values.empty() ? sample.noisy : sample.values;
}

namespace {

bool repeats(const std::vector<double>& values) {
  return !values.empty() && values.front() >= 0 &&
         std::count(values.begin(), values.end(), values.front()) == static_cast<std::ptrdiff_t>(values.size());
}

void conclude_exact(Decision& out, double current, double baseline, const DecisionRule& rule) {
  const auto direction = current > baseline ? 1 : -1;
  if (current == baseline) {
    return conclude(out, Verdict::same, VerdictReason::exact, "the same number in every run of both sides");
  }
  if (current == 0 || baseline == 0) {
    return conclude(out, direction_verdict(direction, rule.direction), VerdictReason::exact,
                    "each side repeats its number, and one of the two is 0");
  }
  out.ratio = current / baseline;
  if (std::abs(std::log(*out.ratio)) <= std::log1p(rule.margin_fraction)) {
    return conclude(out, Verdict::same, VerdictReason::exact,
                    "each side repeats its number; they differ within the margin");
  }
  conclude(out, direction_verdict(direction, rule.direction), VerdictReason::exact,
           fmt::format("each side repeats its number; they differ by more than {}", percent(rule.margin_fraction)));
}

}  // namespace

Exactness exactness_of(spec::MetricNoise noise) {
  return noise == spec::MetricNoise::counted ? Exactness::counted : Exactness::repeated;
}

std::optional<Decision> decide_exact(const std::vector<double>& current, const std::vector<double>& baseline,
                                     const DecisionRule& rule, Exactness exactness) {
  if (!repeats(current) || !repeats(baseline)) return std::nullopt;
  const bool may_differ = exactness == Exactness::counted ||
                          (exactness == Exactness::repeated && std::min(current.size(), baseline.size()) > 1);
  if (!may_differ && current.front() != baseline.front()) return std::nullopt;
  Decision out;
  out.current_runs = current.size();
  out.baseline_runs = baseline.size();
  out.detectable_fraction = 0;
  if (current.front() > 0 && current.front() == baseline.front()) out.ratio = 1;
  conclude_exact(out, current.front(), baseline.front(), rule);
  if (out.ratio) out.ratio_95 = Interval{*out.ratio, *out.ratio};
  return out;
}

Decision decide(const Sample& current, const Sample& baseline, const DecisionRule& rule) {
  if (const auto zeros = decide_zeros(current, baseline, rule)) return *zeros;
  const auto undecided = nothing_to_decide_on(current, baseline, rule);
  if (undecided) return *undecided;
  Decision out;
  const auto a = newest_logs(current.values, rule.most_runs);
  const auto b = newest_logs(baseline.values, rule.most_runs);
  out.current_runs = a.size();
  out.baseline_runs = b.size();
  const auto difference = welch_difference(a, b);
  describe(out, difference);
  if (speed_changed(current, baseline, rule)) {
    conclude_speed_changed(out, *probe_shift(current, baseline));
  } else if (std::min(a.size(), b.size()) < 2 || smallest_p(a.size(), b.size()) >= rule.alpha) {
    const auto needed = fewest_runs(rule.alpha, false);
    conclude(out, Verdict::inconclusive, VerdictReason::too_few_runs,
             fmt::format("{} against {} runs cannot decide at p < {}: it needs {} against {} (--repeats {})", a.size(),
                         b.size(), rule.alpha, needed, needed, needed));
  } else {
    judge(out, difference, permutation_p(a, b), rule);
    if (out.reason == VerdictReason::not_significant) {
      out.detail += repeats_hint(difference, std::min(a.size(), b.size()), false, rule);
    }
  }
  out.detail += discarded_note(current.noisy.size() + baseline.noisy.size());
  return out;
}

Decision decide_between_sessions(const Sample& current, const Sample& baseline, const DecisionRule& rule,
                                 const std::vector<SessionLevel>& known) {
  const auto undecided = nothing_to_decide_on(current, baseline, rule);
  if (undecided) return *undecided;
  const auto a = newest_runs(current, "current", rule.most_runs);
  const auto b = newest_runs(baseline, "baseline", rule.most_runs);
  if (session_weight(a, b) == 0) return decide(current, baseline, rule);
  const auto spread = session_spread(known, a, b);
  Decision out;
  out.current_runs = a.logs.size();
  out.baseline_runs = b.logs.size();
  out.ratio = std::exp(mean(a.logs) - mean(b.logs));
  out.sessions = spread.sessions;
  if (spread.sessions > 1) out.session_deviation = spread.deviation;
  if (!spread.known()) {
    // Shows no interval: one from the runs alone would be too narrow.
    conclude(out, Verdict::inconclusive, VerdictReason::sessions_unknown,
             fmt::format("the sides have different sessions, and the spread between sessions of this cell is unknown: "
                         "it takes {} others on this machine, each on another day, and there {} {}",
                         kFewestSessions, spread.sessions == 1 ? "is" : "are", spread.sessions));
  } else if (const auto apart = days_apart(a, b); apart && spread.covered_days && *apart > *spread.covered_days) {
    conclude(out, Verdict::inconclusive, VerdictReason::sessions_too_close,
             fmt::format("the sides are {} days apart, but the {} other sessions of this cell cover {}: the spread "
                         "between sessions over a longer time is unknown",
                         *apart, spread.sessions, *spread.covered_days));
  } else {
    auto difference = session_difference(a, b, spread);
    difference.doubt = probe_shift(current, baseline).value_or(0);
    describe(out, difference);
    if (speed_changed(current, baseline, rule)) {
      conclude_speed_changed(out, difference.doubt);
    } else if (!difference.has_spread()) {
      conclude(out, Verdict::inconclusive, VerdictReason::too_few_runs,
               fmt::format("{} against {} runs do not show how far runs of a session differ: it needs 2 of one",
                           a.logs.size(), b.logs.size()));
    } else {
      judge(out, difference, difference.t_p(), rule);
    }
    out.detail += sessions_note(spread, difference.doubt);
  }
  out.detail += discarded_note(current.noisy.size() + baseline.noisy.size());
  return out;
}

Decision decide_against_constant(const Sample& current, double baseline, const DecisionRule& rule) {
  Decision out;
  const auto discarded = discarded_note(current.noisy.size());
  if (!positive(shown_values(current)) || baseline <= 0) {
    out.detail = "a side has no run to compare";
    return out;
  }
  if (current.values.empty()) return all_noisy(newest_logs(current.noisy, rule.most_runs), {std::log(baseline)});
  auto d = newest_logs(current.values, rule.most_runs);
  for (auto& x : d) x -= std::log(baseline);
  out.current_runs = d.size();
  out.baseline_runs = 1;
  const auto difference = mean_difference(d);
  describe(out, difference);
  if (smallest_p_against_constant(d.size()) >= rule.alpha) {
    conclude(out, Verdict::inconclusive, VerdictReason::too_few_runs,
             fmt::format("{0} runs against one number cannot decide at p < {1}: it needs {2} runs (--repeats {2})",
                         d.size(), rule.alpha, fewest_runs(rule.alpha, true)));
  } else {
    judge(out, difference, sign_flip_p(d), rule);
    if (out.reason == VerdictReason::not_significant) out.detail += repeats_hint(difference, d.size(), true, rule);
  }
  out.detail += discarded;
  return out;
}

}  // namespace perfbench::harness
