#include "harness/stats/night_noise.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <functional>

#include "harness/stats/statistics.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kTailDraws = 100;  // the largest draws, from which a rarer score is extrapolated

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

}  // namespace

NightWindows windows_of(std::size_t n, const ScreenRule& rule) {
  const auto recent = std::min(rule.most_recent, n - rule.fewest_before);
  const auto last = n - recent;
  return {.reference_first = last > rule.most_reference ? last - rule.most_reference : 0, .reference_last = last};
}

void PreparedNights::clip(std::span<const double> logs, double limit) {
  values_.clear();
  for (const double x : logs) values_.push_back(std::clamp(x - noise_.center, -limit, limit));
}

void PreparedNights::set(std::span<const double> logs, const ScreenRule& rule, double scatter) {
  const auto w = windows_of(logs.size(), rule);
  const auto reference = logs.subspan(w.reference_first, w.reference_last - w.reference_first);
  scratch_.assign(reference.begin(), reference.end());
  noise_.center = median_in_place(scratch_);
  noise_.sigma = std::max(rule.smallest_sigma, robust(reference, noise_.center));
  const double limit = rule.clip_deviations * noise_.sigma;
  clip(logs, limit);
  const auto clipped = std::span<const double>(values_).subspan(w.reference_first, reference.size());
  noise_.phi = lag1(clipped);
  noise_.innovation =
      std::max(innovation_deviation(clipped, noise_.phi), rule.smallest_sigma * std::sqrt(1 - noise_.phi * noise_.phi));
  if (scatter > 1) clip(logs, scatter * limit);
}

double PreparedNights::robust(std::span<const double> values, double center) {
  scratch_.clear();
  for (const double x : values) scratch_.push_back(std::abs(x - center));
  return kGaussianDeviation * median_in_place(scratch_);
}

std::vector<double> own_pool(std::span<const double> logs, const NightNoise& noise, const NightWindows& w) {
  std::vector<double> out;
  for (auto i = w.reference_first + 1; i < w.reference_last; ++i) {
    out.push_back(logs[i] - noise.center - noise.phi * (logs[i - 1] - noise.center));
  }
  const double center = median(out);
  for (auto& e : out) e -= center;
  return out;
}

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

const std::vector<double>& NightDraws::next() {
  const auto draw = [this] { return pool_[static_cast<std::size_t>((random_() >> 32U) * pool_.size() >> 32U)]; };
  series_[0] = draw() / std::sqrt(1 - phi_ * phi_);
  for (std::size_t t = 1; t < series_.size(); ++t) series_[t] = phi_ * series_[t - 1] + draw();
  return series_;
}

double score_exceeded_by(double allowed, std::vector<double> scores) {
  const auto counted = std::min(scores.size() - 1, kFewestCounted);
  if (allowed >= static_cast<double>(counted)) {
    const auto at = scores.begin() + static_cast<std::ptrdiff_t>(allowed) - 1;
    std::nth_element(scores.begin(), at, scores.end(), std::greater<>());
    return *at;
  }
  const auto tail = std::min(scores.size() - 1, kTailDraws);
  const auto base = scores.begin() + static_cast<std::ptrdiff_t>(tail);
  std::nth_element(scores.begin(), base, scores.end(), std::greater<>());
  double beyond = 0;
  for (auto score = scores.begin(); score != base; ++score) beyond += *score * *score - *base * *base;
  const auto count = static_cast<double>(tail);
  return std::sqrt(*base * *base + beyond / count * std::log(count / allowed));
}

}  // namespace perfbench::harness
