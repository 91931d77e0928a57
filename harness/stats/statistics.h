// Order statistics by one definition.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace perfbench::harness {

// All need at least one value and throw std::invalid_argument without.

// Mean of the two middle values of an even count.
double median(std::vector<double> values);

// Of the values from index `begin` up to `end`.
double median_between(std::span<const double> values, std::size_t begin, std::size_t end);

// Hyndman and Fan's type 7 (the default of R and NumPy): linear between the order statistics at (n - 1) * p.
double quantile(std::vector<double> values, double p);

// Of the least-squares line of y over x, as many of each: cov(x, y) / var(x). 0 where all x are equal.
double regression_slope(const std::vector<double>& y, const std::vector<double>& x);

// 1 / quantile(standard normal, 0.75): a median distance to the median, times this, is the standard deviation of
// Gaussian values.
inline constexpr double kGaussianDeviation = 1.4826;

// Median distance to the median, times kGaussianDeviation: the standard deviation, were the values Gaussian.
double robust_deviation(const std::vector<double>& values);

}  // namespace perfbench::harness
