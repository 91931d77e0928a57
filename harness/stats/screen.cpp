#include "harness/stats/screen.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "harness/stats/creep.h"
#include "harness/stats/night_noise.h"
#include "harness/stats/noise_change.h"
#include "harness/stats/statistics.h"

namespace perfbench::harness {
namespace {

// Consecutive nights share all but one of their values and count as one screen. Measured by `perfbench selftest`.
constexpr double kNightsPerScreen = 2;
// The effective number of independent shifts that are searched. A simulation of independent Gaussian nights gives 6.8.
constexpr double kFewestLooks = 5;

double nightly_rate(const ScreenRule& rule) {
  return rule.screens_per_year * kNightsPerScreen / kNightsPerYear;
}

// |shift| over its standard error by generalised least squares, for a level and a shift of the last k nights under
// AR(1) noise. In terms of innovations x_t - phi x_(t-1), with c = 1 - phi, the level enters every night with the
// factor c. The first night is sqrt(1 - phi^2) x, and the level enters it with sqrt(1 - phi^2). The shift enters its
// first night with 1 and the later ones with c.
class ShiftFit {
 public:
  ShiftFit(const PreparedNights& series, const ScreenRule& rule)
      : x_(series.values()), noise_(series.noise()), most_before_(rule.most_before), sums_(x_.size() + 1) {
    for (std::size_t i = 0; i < x_.size(); ++i) sums_[i + 1] = sums_[i] + innovation(i);
  }
  double score(std::size_t k) const {
    const auto n = x_.size();
    const auto first = n - k;
    const auto start = first > most_before_ ? first - most_before_ : 0;
    const double c = 1 - noise_.phi;
    const double head = 1 - noise_.phi * noise_.phi;
    const auto later = static_cast<double>(k - 1);
    const double level = head + static_cast<double>(n - start - 1) * c * c;
    const double both = c + later * c * c;
    const double shift = 1 + later * c * c;
    const double level_sum = head * x_[start] + c * (sums_[n] - sums_[start + 1]);
    const double shift_sum = innovation(first) + c * (sums_[n] - sums_[first + 1]);
    const double determinant = level * shift - both * both;
    return std::abs(level * shift_sum - both * level_sum) / (noise_.innovation * std::sqrt(level * determinant));
  }

 private:
  double innovation(std::size_t i) const { return i == 0 ? 0.0 : x_[i] - noise_.phi * x_[i - 1]; }

  const std::vector<double>& x_;
  const NightNoise noise_;
  std::size_t most_before_;
  std::vector<double> sums_;
};

ShiftScore best_fit(const PreparedNights& series, const ScreenRule& rule) {
  const auto n = series.values().size();
  const ShiftFit fit(series, rule);
  ShiftScore best{.sigma = series.noise().sigma};
  for (std::size_t k = 1; k <= n - windows_of(n, rule).reference_last; ++k) {
    const double score = fit.score(k);
    if (score > best.score) {
      best.score = score;
      best.first = n - k;
    }
  }
  return best;
}

// The score that draws exceed at the rule's rate. nullopt if `observed` is not above it, which often shows early.
std::optional<double> threshold_below(double observed, const std::vector<double>& pool, double phi, std::size_t nights,
                                      const ScreenRule& rule) {
  const double allowed = nightly_rate(rule) * static_cast<double>(rule.draws);
  const auto too_many = std::max(kFewestCounted, static_cast<std::size_t>(allowed));
  NightDraws draws(pool, phi, nights, rule);
  std::vector<double> scores;
  PreparedNights prepared;
  std::size_t exceeding = 0;
  for (std::size_t i = 0; i < rule.draws; ++i) {
    prepared.set(draws.next(), rule);
    scores.push_back(best_fit(prepared, rule).score);
    if (scores.back() >= observed && ++exceeding >= too_many) return std::nullopt;
  }
  const double threshold = score_exceeded_by(allowed, std::move(scores));
  if (threshold >= observed) return std::nullopt;
  return threshold;
}

double shift_between(std::span<const double> logs, std::size_t first, std::size_t most_before) {
  const auto start = first > most_before ? first - most_before : 0;
  return median_between(logs, first, logs.size()) - median_between(logs, start, first);
}

// Dates the step, by least squares around a level before it and a level after it, with clipped distances. best_fit()
// clips a value far above the previous level to one that a few ordinary nights could have. It therefore dates a large
// shift a night or more too early in one of 20 series.
std::size_t first_shifted_night(std::span<const double> nights, double sigma, const ScreenRule& rule) {
  const auto n = nights.size();
  const auto last_before = windows_of(n, rule).reference_last;
  const auto start = last_before > rule.most_before ? last_before - rule.most_before : 0;
  const double limit = rule.clip_deviations * sigma;
  std::size_t best = n - 1;
  double least = std::numeric_limits<double>::infinity();
  for (auto first = n - 1; first >= last_before; --first) {
    const double before = median_between(nights, start, first);
    const double since = median_between(nights, first, n);
    double cost = 0;
    for (auto i = start; i < n; ++i) {
      const double away = std::min(limit, std::abs(nights[i] - (i < first ? before : since)));
      cost += away * away;
    }
    if (cost >= least) continue;
    least = cost;
    best = first;
  }
  return best;
}

// Whether the newest nights, however few, went back from the level of the shift to the level before it. They are nearer
// to the old level. They are also farther from the shifted one than chance explains for two medians of the same numbers
// of nights of AR(1) noise.
bool is_over(std::span<const double> nights, std::size_t first, const NightNoise& noise, const ScreenRule& rule) {
  const auto n = nights.size();
  const double before = median_between(nights, first > rule.most_before ? first - rule.most_before : 0, first);
  constexpr double kMedianOverMean =
      1.2533;  // standard error of a median over that of a mean, for many Gaussian values
  const auto variance_of = [&noise](std::size_t count) {
    return std::min(1.0, (1 + noise.phi) / (1 - noise.phi) / static_cast<double>(count));
  };
  for (auto back = first + 1; back < n; ++back) {
    const double shifted = median_between(nights, first, back);
    const double newest = median_between(nights, back, n);
    const double error = kMedianOverMean * noise.sigma * std::sqrt(variance_of(back - first) + variance_of(n - back));
    const bool left = std::abs(newest - shifted) > rule.return_deviations * error;
    if (left && std::abs(newest - before) < std::abs(newest - shifted)) return true;
  }
  return false;
}

// The newest night alone, in standard deviations of an innovation. It counts where it lies beyond Gaussian nights whose
// deviation is known from so few, and beyond all nights of the reference (screen.h). The previous night is clipped,
// because the return from a spike is not a step.
std::optional<ScreenFinding> lone_night(std::span<const double> nights, const PreparedNights& prepared, double scatter,
                                        const ScreenRule& rule) {
  const auto& noise = prepared.noise();
  const auto w = windows_of(nights.size(), rule);
  const auto step = [&](std::size_t i) {
    return std::abs(nights[i] - noise.center - noise.phi * prepared.values()[i - 1]) / noise.innovation;
  };
  const auto known = static_cast<double>(w.reference_last - w.reference_first - 1);
  const boost::math::students_t t(known - 1);
  const double rate = rule.lone_nights_per_year / kNightsPerYear;
  double threshold = boost::math::quantile(boost::math::complement(t, rate / 2)) * std::sqrt(1 + 1 / known);
  const double records = kNightsPerYear / (known + 1);  // records a year
  const double factor = std::max(1.0, std::pow(records / rule.record_nights_per_year, 1 / rule.tail_power));
  for (auto i = w.reference_first + 1; i < w.reference_last; ++i) threshold = std::max(threshold, factor * step(i));
  const auto newest = nights.size() - 1;
  const double score = step(newest) / scatter;
  if (score <= threshold) return std::nullopt;
  return ScreenFinding{.first = newest,
                       .shift_log = shift_between(nights, newest, rule.most_before),
                       .sigma = scatter * noise.sigma,
                       .score = score,
                       .threshold = threshold};
}

// A shift that several clipped nights show together. `scatter`: how much more the newest nights deviate than the
// reference.
std::optional<ScreenFinding> lasting_shift(std::span<const double> nights, const PreparedNights& prepared,
                                           double scatter, const ScreenRule& rule) {
  auto found = best_fit(prepared, rule);
  found.score /= scatter;
  found.sigma *= scatter;
  // A lower bound of the threshold, which avoids the simulation for most nights.
  const double single = nightly_rate(rule) / kFewestLooks;
  if (found.score < boost::math::quantile(boost::math::normal(), 1 - single / 2)) return std::nullopt;
  auto noise = prepared.noise();
  noise.sigma = found.sigma;
  const auto w = windows_of(nights.size(), rule);
  const auto first = first_shifted_night(nights, noise.sigma, rule);
  if (is_over(nights, first, noise, rule)) return std::nullopt;
  std::optional<double> gaussian = 0;
  if (w.reference_last - w.reference_first < rule.enough_known) {
    gaussian = threshold_below(found.score, gaussian_pool(), noise.phi, nights.size(), rule);
    if (!gaussian) return std::nullopt;
  }
  const auto own = threshold_below(found.score, own_pool(nights, noise, w), noise.phi, nights.size(), rule);
  if (!own) return std::nullopt;
  return ScreenFinding{.first = first,
                       .shift_log = shift_between(nights, first, rule.most_before),
                       .sigma = found.sigma,
                       .score = found.score,
                       .threshold = std::max(*gaussian, *own)};
}

void look_for_creep(ScreenFinding& found, std::span<const double> nights, const ScreenRule& rule) {
  const auto count = std::min(nights.size(), rule.most_recent + rule.most_before);
  const auto creep = find_creep(nights.last(count));
  if (!creep || (creep->per_night > 0) != (found.shift_log > 0)) return;
  const auto last_level = nights.size() - count + creep->last_level;
  if (last_level >= found.first) return;
  found.good = last_level;
  found.creep_log = creep->per_night;
}

}  // namespace

std::span<const double> nights_screened(std::span<const double> logs, const ScreenRule& rule) {
  const auto most = rule.most_recent + rule.most_reference;
  return logs.size() > most ? logs.last(most) : logs;
}

std::optional<ShiftScore> largest_shift(std::span<const double> logs, const ScreenRule& rule) {
  if (logs.size() <= rule.fewest_before) return std::nullopt;
  PreparedNights prepared;
  prepared.set(logs, rule);
  return best_fit(prepared, rule);
}

std::optional<ScreenFinding> screen(const std::vector<double>& logs, const ScreenRule& rule) {
  const auto nights = nights_screened(logs, rule);
  if (nights.size() <= rule.fewest_before) return std::nullopt;
  const double scatter = newest_scatter(nights, rule);
  PreparedNights prepared;
  prepared.set(nights, rule, scatter);
  auto found = lasting_shift(nights, prepared, scatter, rule);
  if (!found) found = lone_night(nights, prepared, scatter, rule);
  if (!found) return std::nullopt;
  found->good = found->first - 1;
  look_for_creep(*found, nights, rule);
  found->first += logs.size() - nights.size();
  found->good += logs.size() - nights.size();
  return found;
}

std::vector<double> at_newest_level(std::vector<double> logs, std::span<const std::size_t> first_shifted,
                                    const ScreenRule& rule) {
  std::set<std::size_t> ordered(first_shifted.begin(), first_shifted.end());
  ordered.erase(0);
  ordered.erase(ordered.lower_bound(logs.size()), ordered.end());
  // Oldest first: all nights before the second shift are then on one level.
  for (auto shift = ordered.begin(); shift != ordered.end(); ++shift) {
    const auto first = *shift;
    const auto next = std::next(shift) == ordered.end() ? logs.size() : *std::next(shift);
    const auto start = first > rule.most_before ? first - rule.most_before : 0;
    const double since = median_between(logs, first, std::min(next, first + rule.most_recent));
    const double move = since - median_between(logs, start, first);
    for (std::size_t i = 0; i < first; ++i) logs[i] += move;
  }
  return logs;
}

}  // namespace perfbench::harness
