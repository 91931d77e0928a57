#include "harness/stats/statistics.h"

#include <algorithm>
#include <boost/math/statistics/bivariate_statistics.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <stdexcept>

namespace perfbench::harness {
namespace {

void need_values(const std::vector<double>& values) {
  if (values.empty()) throw std::invalid_argument("a statistic needs at least one value");
}

}  // namespace

double median(std::vector<double> values) {
  need_values(values);
  return boost::math::statistics::median(values);
}

double median_between(std::span<const double> values, std::size_t begin, std::size_t end) {
  const auto part = values.subspan(begin, end - begin);
  return median({part.begin(), part.end()});
}

double quantile(std::vector<double> values, double p) {
  need_values(values);
  std::sort(values.begin(), values.end());
  const double position = static_cast<double>(values.size() - 1) * std::clamp(p, 0.0, 1.0);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const auto above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

double regression_slope(const std::vector<double>& y, const std::vector<double>& x) {
  need_values(x);
  const double of_x = boost::math::statistics::variance(x);
  return of_x == 0 ? 0 : boost::math::statistics::covariance(x, y) / of_x;
}

double robust_deviation(const std::vector<double>& values) {
  need_values(values);
  const double center = median(values);
  auto distances = values;
  for (auto& d : distances) d = std::abs(d - center);
  return kGaussianDeviation * median(distances);
}

}  // namespace perfbench::harness
