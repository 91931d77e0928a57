#include "harness/stats/screen.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include "harness/stats/statistics.h"

namespace perfbench::harness {
namespace {

constexpr double kNightsPerYear = 365.25;
// Consecutive nights share all but one of their values and count as one screen. Measured by `perfbench selftest`.
constexpr double kNightsPerScreen = 2;
// The effective number of independent shifts that are searched. A simulation of independent Gaussian nights gives 6.8.
constexpr double kFewestLooks = 5;

double nightly_rate(const ScreenRule& rule) {
  return rule.screens_per_year * kNightsPerScreen / kNightsPerYear;
}

// How the nights of a series are used. In a series of n nights, the noise is estimated from [reference_first,
// reference_last), and a shift may have begun at any night from reference_last on.
struct Windows {
  std::size_t reference_first = 0;
  std::size_t reference_last = 0;
};

Windows windows_of(std::size_t n, const ScreenRule& rule) {
  const auto recent = std::min(rule.most_recent, n - rule.fewest_before);
  const auto last = n - recent;
  return {.reference_first = last > rule.most_reference ? last - rule.most_reference : 0, .reference_last = last};
}

struct Noise {
  double center = 0;      // median
  double sigma = 0;       // standard deviation of a night
  double phi = 0;         // AR(1) coefficient
  double innovation = 0;  // deviation of x_t - phi x_(t-1)
};

double median_in_place(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

// Lag-1 autocorrelation, corrected for its bias -(1 + 3 phi) / n (Kendall 1954) and limited to 0 .. 0.9. A negative
// coefficient would only make the scale smaller.
double lag1(std::span<const double> centred) {
  double cross = 0;
  double square = 0;
  for (std::size_t i = 0; i < centred.size(); ++i) {
    square += centred[i] * centred[i];
    if (i > 0) cross += centred[i] * centred[i - 1];
  }
  if (square <= 0) return 0;
  const auto n = static_cast<double>(centred.size());
  return std::clamp((cross / square * n + 1) / (n - 3), 0.0, 0.9);
}

// Clipped values have no outliers left, so that their plain standard deviation is the most efficient estimate.
double innovation_deviation(std::span<const double> clipped, double phi) {
  double sum = 0;
  double square = 0;
  for (std::size_t i = 1; i < clipped.size(); ++i) {
    const double e = clipped[i] - phi * clipped[i - 1];
    sum += e;
    square += e * e;
  }
  const auto n = static_cast<double>(clipped.size() - 1);
  return std::sqrt(std::max(0.0, square - sum * sum / n) / (n - 1));
}

// A series, clipped and centred, with the noise of its reference nights.
class Prepared {
 public:
  void set(std::span<const double> logs, const ScreenRule& rule) {
    const auto w = windows_of(logs.size(), rule);
    const auto reference = logs.subspan(w.reference_first, w.reference_last - w.reference_first);
    scratch_.assign(reference.begin(), reference.end());
    noise_.center = median_in_place(scratch_);
    noise_.sigma = std::max(rule.smallest_sigma, robust(reference, noise_.center));
    const double limit = rule.clip_deviations * noise_.sigma;
    values_.clear();
    for (const double x : logs) values_.push_back(std::clamp(x - noise_.center, -limit, limit));
    const auto clipped = std::span<const double>(values_).subspan(w.reference_first, reference.size());
    noise_.phi = lag1(clipped);
    noise_.innovation = std::max(innovation_deviation(clipped, noise_.phi),
                                 rule.smallest_sigma * std::sqrt(1 - noise_.phi * noise_.phi));
  }
  const std::vector<double>& values() const { return values_; }
  const Noise& noise() const { return noise_; }

 private:
  double robust(std::span<const double> values, double center) {
    scratch_.clear();
    for (const double x : values) scratch_.push_back(std::abs(x - center));
    return kGaussianDeviation * median_in_place(scratch_);
  }

  std::vector<double> values_;
  std::vector<double> scratch_;
  Noise noise_;
};

// |shift| over its standard error by generalised least squares, for a level and a shift of the last k nights under
// AR(1) noise. In terms of innovations x_t - phi x_(t-1), with c = 1 - phi, the level enters every night with the
// factor c. The first night is sqrt(1 - phi^2) x, and the level enters it with sqrt(1 - phi^2). The shift enters its
// first night with 1 and the later ones with c.
class ShiftFit {
 public:
  ShiftFit(const Prepared& series, const ScreenRule& rule)
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
  const Noise noise_;
  std::size_t most_before_;
  std::vector<double> sums_;
};

ShiftScore best_fit(const Prepared& series, const ScreenRule& rule) {
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

// Equally likely standard normal quantiles.
const std::vector<double>& gaussian_pool() {
  static const std::vector<double> pool = [] {
    constexpr std::size_t kSize = 4096;
    std::vector<double> out;
    for (std::size_t i = 0; i < kSize; ++i) {
      out.push_back(boost::math::quantile(boost::math::normal(), (static_cast<double>(i) + 0.5) / kSize));
    }
    return out;
  }();
  return pool;
}

// The segment's own innovations, unclipped and centred on 0.
std::vector<double> own_pool(std::span<const double> logs, const Noise& noise, const Windows& w) {
  std::vector<double> out;
  for (auto i = w.reference_first + 1; i < w.reference_last; ++i) {
    out.push_back(logs[i] - noise.center - noise.phi * (logs[i - 1] - noise.center));
  }
  const double center = median(out);
  for (auto& e : out) e -= center;
  return out;
}

// The score that `allowed` of the draws exceed. nullopt as soon as that many draws reach `observed`, which is then not
// above the threshold.
std::optional<double> threshold_below(double observed, const std::vector<double>& pool, double phi, std::size_t nights,
                                      const ScreenRule& rule) {
  const auto allowed = static_cast<std::size_t>(std::max(1.0, nightly_rate(rule) * static_cast<double>(rule.draws)));
  std::mt19937_64 random(rule.seed);
  const auto draw = [&] { return pool[static_cast<std::size_t>((random() >> 32U) * pool.size() >> 32U)]; };
  std::vector<double> scores;
  std::vector<double> series(nights);
  Prepared prepared;
  std::size_t exceeding = 0;
  for (std::size_t i = 0; i < rule.draws; ++i) {
    series[0] = draw() / std::sqrt(1 - phi * phi);
    for (std::size_t t = 1; t < nights; ++t) series[t] = phi * series[t - 1] + draw();
    prepared.set(series, rule);
    scores.push_back(best_fit(prepared, rule).score);
    if (scores.back() >= observed && ++exceeding >= allowed) return std::nullopt;
  }
  const auto at = scores.begin() + static_cast<std::ptrdiff_t>(allowed - 1);
  std::nth_element(scores.begin(), at, scores.end(), std::greater<>());
  return *at;
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
bool is_over(std::span<const double> nights, std::size_t first, const Noise& noise, const ScreenRule& rule) {
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
std::optional<ScreenFinding> lone_night(std::span<const double> nights, const Prepared& prepared,
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
  const double score = step(newest);
  if (score <= threshold) return std::nullopt;
  return ScreenFinding{.first = newest,
                       .shift_log = shift_between(nights, newest, rule.most_before),
                       .sigma = noise.sigma,
                       .score = score,
                       .threshold = threshold};
}

// A shift that several clipped nights show together.
std::optional<ScreenFinding> lasting_shift(std::span<const double> nights, const Prepared& prepared,
                                           const ScreenRule& rule) {
  const auto found = best_fit(prepared, rule);
  // A lower bound of the threshold, which avoids the simulation for most nights.
  const double single = nightly_rate(rule) / kFewestLooks;
  if (found.score < boost::math::quantile(boost::math::normal(), 1 - single / 2)) return std::nullopt;
  const auto& noise = prepared.noise();
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

}  // namespace

std::span<const double> nights_screened(std::span<const double> logs, const ScreenRule& rule) {
  const auto most = rule.most_recent + rule.most_reference;
  return logs.size() > most ? logs.last(most) : logs;
}

std::optional<ShiftScore> largest_shift(std::span<const double> logs, const ScreenRule& rule) {
  if (logs.size() <= rule.fewest_before) return std::nullopt;
  Prepared prepared;
  prepared.set(logs, rule);
  return best_fit(prepared, rule);
}

std::optional<ScreenFinding> screen(const std::vector<double>& logs, const ScreenRule& rule) {
  const auto nights = nights_screened(logs, rule);
  if (nights.size() <= rule.fewest_before) return std::nullopt;
  Prepared prepared;
  prepared.set(nights, rule);
  auto found = lasting_shift(nights, prepared, rule);
  if (!found) found = lone_night(nights, prepared, rule);
  if (found) found->first += logs.size() - nights.size();
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
