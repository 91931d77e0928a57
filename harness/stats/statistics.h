// Order statistics, each with one definition.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace perfbench::harness {

// All functions need at least one value and throw std::invalid_argument without one.

// The mean of the two middle values if their number is even.
double median(std::vector<double> values);

// The median of the values from index `begin` up to `end`.
double median_between(std::span<const double> values, std::size_t begin, std::size_t end);

// Hyndman and Fan's type 7 (the default of R and NumPy): linear between the order statistics at (n - 1) * p.
double quantile(std::vector<double> values, double p);

// The slope of the least-squares line of y over x, which have equal sizes: cov(x, y) / var(x). 0 where all x are equal.
double regression_slope(const std::vector<double>& y, const std::vector<double>& x);

// 1 / quantile(standard normal, 0.75): converts the median distance to the median of Gaussian values to their standard
// deviation.
inline constexpr double kGaussianDeviation = 1.4826;

// The median distance to the median, times kGaussianDeviation: the standard deviation of Gaussian values.
double robust_deviation(const std::vector<double>& values);

}  // namespace perfbench::harness
