#include "harness/stats/trend.h"

#include <fmt/core.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>

#include "harness/stats/log_difference.h"
#include "harness/stats/statistics.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kFewestOfTrend = 8;  // the normal approximation of the test is good enough from here on
constexpr std::size_t kMostOfTrend = 400;  // 79800 pairs
constexpr double kTrendLevel = 0.01;

std::vector<double> medians_of_pieces(const std::vector<double>& values) {
  std::vector<double> out;
  for (std::size_t i = 0; i < kMostOfTrend; ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(i * values.size() / kMostOfTrend);
    const auto end = static_cast<std::ptrdiff_t>((i + 1) * values.size() / kMostOfTrend);
    out.push_back(median({values.begin() + begin, values.begin() + end}));
  }
  return out;
}

// Kendall's S has the variance n (n - 1) (2 n + 5) / 18 where there is no trend and no two values are equal. Equal
// values make it smaller, so that the test is conservative.
bool is_significant(double s, double n) {
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  const double z = (std::abs(s) - 1) / deviation;
  return z > boost::math::quantile(boost::math::complement(boost::math::normal(), kTrendLevel / 2));
}

}  // namespace

std::optional<double> trend_fraction(const std::vector<double>& values) {
  if (values.size() < kFewestOfTrend) return std::nullopt;
  const auto series = values.size() > kMostOfTrend ? medians_of_pieces(values) : values;
  const double middle = median(series);
  if (middle <= 0) return std::nullopt;
  std::vector<double> slopes;
  double s = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    for (std::size_t j = i + 1; j < series.size(); ++j) {
      const double rise = series[j] - series[i];
      s += rise > 0 ? 1 : rise < 0 ? -1 : 0;
      slopes.push_back(rise / static_cast<double>(j - i));
    }
  }
  const auto n = static_cast<double>(series.size());
  return is_significant(s, n) ? median(std::move(slopes)) * (n - 1) / middle : 0.0;
}

std::string trend_text(const std::vector<double>& trends) {
  if (trends.empty()) return "";
  const double trend = median(trends);
  if (std::abs(trend) <= kNotableTrend) return "";
  return fmt::format("its steps became {} {} during a run", percent(std::abs(trend)), trend > 0 ? "slower" : "quicker");
}

std::string trend_note(std::string_view whose, const std::vector<double>& trends) {
  const auto text = trend_text(trends);
  return text.empty() ? "" : fmt::format("{}: {}; longer runs may differ in another way", whose, text);
}

}  // namespace perfbench::harness
