#include "harness/stats/paired_decision.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "harness/stats/decision.h"
#include "harness/stats/log_difference.h"

namespace perfbench::harness {
namespace {

constexpr double kEquivalenceLevel = 0.05;

void check(const PairedRule& rule) {
  const auto& looks = rule.looks;
  const bool rising = std::adjacent_find(looks.begin(), looks.end(), std::greater_equal<>()) == looks.end();
  if (looks.empty() || looks.front() < 2 || looks.back() > 64 || !rising) {
    throw std::invalid_argument("looks must be rising numbers of pairs, from 2 to 64");
  }
  if (rule.direction == spec::Direction::neutral) {
    throw std::invalid_argument("a metric without direction has no verdict");
  }
  if (!(rule.alpha > 0 && rule.alpha < 1) || !(rule.margin_fraction > 0)) {
    throw std::invalid_argument("alpha must lie between 0 and 1, and a margin above 0");
  }
}

struct Logs {
  std::vector<double> a;
  std::vector<double> b;

  std::size_t pairs() const { return a.size(); }
  PairedDifference difference() const { return paired_difference(a, b); }
  std::vector<double> differences() const {
    std::vector<double> out;
    std::transform(b.begin(), b.end(), a.begin(), std::back_inserter(out), std::minus<>());
    return out;
  }
};

Logs logs_of(const std::vector<Pair>& pairs, std::size_t count) {
  Logs out;
  for (const auto& pair : pairs) {
    if (!(pair.a > 0) || !(pair.b > 0) || !std::isfinite(pair.a) || !std::isfinite(pair.b)) {
      throw std::invalid_argument(
          fmt::format("a pair of {} and {}: both sides must be finite and above 0", pair.a, pair.b));
    }
    if (out.pairs() == count) continue;
    out.a.push_back(std::log(pair.a));
    out.b.push_back(std::log(pair.b));
  }
  return out;
}

double spent(double level, std::size_t pairs, std::size_t last) {
  const double t = static_cast<double>(pairs) / static_cast<double>(last);
  return level * std::log1p((boost::math::constants::e<double>() - 1) * t);
}

// All that is known at one look.
struct Look {
  LookLevel level;
  Logs logs;
  LogDifference difference;
  bool pooled = false;
};

bool is_equivalent(const Look& look, double margin_fraction) {
  const double margin = std::log1p(margin_fraction);
  const auto inner = look.difference.interval(1 - 2 * look.level.equivalence);
  return inner.low > -margin && inner.high < margin;
}

// Whether the interval holds differences that this look would name by luck alone. Then the estimate is probably one of
// those that chance made large enough: the true difference tends to be smaller, and the interval misses it too often.
bool is_selected(const Look& look) {
  if (!look.difference.has_spread()) return false;
  const boost::math::students_t t(look.difference.freedom);
  const double smallest_named =
      boost::math::quantile(boost::math::complement(t, look.level.difference / 2)) * look.difference.error;
  const auto [low, high] = look.difference.interval(0.95);
  return std::min(std::abs(low), std::abs(high)) < smallest_named;
}

void judge_look(PairedDecision& decided, const Look& look, const PairedRule& rule) {
  auto& out = decided.decision;
  if (is_equivalent(look, rule.margin_fraction)) {
    return conclude(out, Verdict::same, VerdictReason::equivalent,
                    fmt::format("the {:.0f} % interval of the ratio lies within +-{}",
                                100 * (1 - 2 * look.level.equivalence), percent(rule.margin_fraction)));
  }
  if (look.level.difference <= 0) {
    return conclude(out, Verdict::inconclusive, VerdictReason::too_few_runs,
                    fmt::format("{} pairs cannot decide at p < {}: it needs {}", look.level.pairs, rule.alpha,
                                fewest_pairs(rule.alpha)));
  }
  if (*out.p >= rule.alpha) {
    return conclude(out, Verdict::inconclusive, VerdictReason::not_significant,
                    fmt::format("p = {:.2g}; {} pairs detect differences of at least {}", *out.p, out.current_runs,
                                percent(*out.detectable_fraction)));
  }
  if (!look.pooled) {
    if (const double flip_p = sign_flip_p(look.logs.differences()); flip_p >= rule.alpha) {
      return conclude(out, Verdict::inconclusive, VerdictReason::not_significant,
                      fmt::format("p = {:.2g} by the t test, but {:.2g} by the exact sign-flip test", *out.p, flip_p));
    }
  }
  conclude(out, direction_verdict(look.difference.mean, rule.direction), VerdictReason::significant,
           fmt::format("p = {:.2g}, below {}", *out.p, rule.alpha));
  decided.selected = is_selected(look);
  if (decided.selected) {
    out.detail += "; selected at a look: the true difference tends to be smaller than the estimate and its interval";
  }
}

// The probability that the last look names a difference or says SAME, if its remaining pairs are like those so far. The
// final mean is distributed as Student's t around today's mean, with today's noise over the pairs until now and the
// pairs to come.
double chance_of_verdict(const Look& look, const PairedRule& rule) {
  const auto last = look_levels(rule).back();
  const auto now = static_cast<double>(look.level.pairs);
  const auto then = static_cast<double>(last.pairs);
  const double deviation = look.difference.error * std::sqrt(now);
  const boost::math::students_t t(look.difference.freedom);
  const double at_last = deviation / std::sqrt(then);
  const double until_last = deviation * std::sqrt(1 / now - 1 / then) * std::sqrt(then / now);
  if (until_last == 0) return 1;
  const auto share_beyond = [&](double limit) {
    return boost::math::cdf(boost::math::complement(t, (limit - look.difference.mean) / until_last)) +
           boost::math::cdf(t, (-limit - look.difference.mean) / until_last);
  };
  const double significant = boost::math::quantile(boost::math::complement(t, last.difference / 2)) * at_last;
  const double equivalent =
      std::log1p(rule.margin_fraction) - boost::math::quantile(boost::math::complement(t, last.equivalence)) * at_last;
  return share_beyond(significant) + (equivalent > 0 ? 1 - share_beyond(equivalent) : 0.0);
}

// Stops a comparison that can no longer reach a verdict.
void stop_in_vain(PairedDecision& out, const Look& look, const PairedRule& rule) {
  const auto last = rule.looks.back();
  if (rule.futile_below <= 0 || out.decision.verdict != Verdict::inconclusive || look.level.pairs >= last) return;
  const double chance = chance_of_verdict(look, rule);
  if (chance >= rule.futile_below) return;
  conclude(out.decision, Verdict::inconclusive, VerdictReason::futile,
           fmt::format("stopped after {} of {} pairs, because a decision has only the probability {}", look.level.pairs,
                       last, percent(chance)));
}

void append_need(PairedDecision& out) {
  if (out.decision.verdict == Verdict::inconclusive && out.pairs_needed) {
    out.decision.detail += fmt::format("; {} pairs would find the margin", *out.pairs_needed);
  }
}

PairedDecision decide_look(Logs logs, const LookLevel& level, const PairedRule& rule) {
  PairedDecision out;
  const auto n = logs.pairs();
  out.decision.current_runs = out.decision.baseline_runs = n;
  const auto [difference, pooled] = logs.difference();
  const Look look{.level = level, .logs = std::move(logs), .difference = difference, .pooled = pooled};
  describe(out.decision, look.difference);
  const bool may_differ = level.difference > 0;
  const double alpha = may_differ ? level.difference : rule.alpha;
  if (may_differ) out.decision.p = std::min(1.0, look.difference.t_p() * rule.alpha / level.difference);
  out.decision.detectable_fraction = std::expm1(detectable_log(look.difference, alpha));
  if (!may_differ || *out.decision.detectable_fraction > rule.margin_fraction) {
    const double deviation = look.difference.error * std::sqrt(static_cast<double>(n));
    out.pairs_needed = values_needed(deviation, std::log1p(rule.margin_fraction), alpha, fewest_pairs(rule.alpha),
                                     look.pooled ? 2 : 1);
  }
  judge_look(out, look, rule);
  stop_in_vain(out, look, rule);
  append_need(out);
  return out;
}

PairedDecision before_first_look(const Logs& logs, const PairedRule& rule) {
  PairedDecision out;
  const auto n = logs.pairs();
  out.decision.current_runs = out.decision.baseline_runs = n;
  if (n > 0) describe(out.decision, logs.difference().difference);
  conclude(out.decision, Verdict::inconclusive, VerdictReason::too_few_runs,
           fmt::format("{} pairs; the first decision needs {}", n, rule.looks.front()));
  out.next_look = out.later_look = rule.looks.front();
  return out;
}

}  // namespace

std::size_t fewest_pairs(double alpha) {
  std::size_t n = 2;
  while (smallest_p_against_constant(n) >= alpha) ++n;
  return n;
}

std::vector<LookLevel> look_levels(const PairedRule& rule) {
  check(rule);
  const auto last = rule.looks.back();
  std::vector<LookLevel> out;
  double equivalence = 0;
  double difference = 0;
  for (const auto pairs : rule.looks) {
    LookLevel level{.pairs = pairs, .equivalence = spent(kEquivalenceLevel, pairs, last) - equivalence};
    equivalence += level.equivalence;
    if (pairs >= fewest_pairs(rule.alpha)) level.difference = spent(rule.alpha, pairs, last) - difference;
    difference += level.difference;
    out.push_back(level);
  }
  return out;
}

PairedDecision decide_pairs(const std::vector<Pair>& pairs, const PairedRule& rule) {
  const auto levels = look_levels(rule);
  const auto next =
      std::find_if(levels.begin(), levels.end(), [&](const LookLevel& l) { return l.pairs > pairs.size(); });
  if (next == levels.begin()) return before_first_look(logs_of(pairs, pairs.size()), rule);
  const auto& level = *std::prev(next);
  auto out = decide_look(logs_of(pairs, next == levels.end() ? pairs.size() : level.pairs), level, rule);
  out.later_look = next == levels.end() ? 0 : next->pairs;
  out.final = out.decision.verdict != Verdict::inconclusive || out.decision.reason == VerdictReason::futile ||
              out.later_look == 0;
  out.next_look = out.final ? 0 : out.later_look;
  return out;
}

void ask_for_later_look(PairedDecision& decision) {
  decision.next_look = decision.later_look;
  decision.final = decision.later_look == 0;
}

std::optional<std::string> gate_refusal(const PairedDecision& decision, const PairedRule& rule) {
  const auto& d = decision.decision;
  if (d.verdict != Verdict::inconclusive) return std::nullopt;
  if (!d.detectable_fraction) return fmt::format("{} pairs are not enough for a gate: {}", d.current_runs, d.detail);
  if (!decision.pairs_needed) return std::nullopt;
  return fmt::format("{} pairs detect differences of at least {}, but the margin is {}: a gate needs {} pairs",
                     d.current_runs, percent(*d.detectable_fraction), percent(rule.margin_fraction),
                     *decision.pairs_needed);
}

}  // namespace perfbench::harness
