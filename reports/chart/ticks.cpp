#include "reports/chart/ticks.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace perfbench::reports {
namespace {

double step_of(double span, int wanted) {
  const double rough = span / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10.0 * power;
}

std::vector<double> powers(double base, const AxisRange& range) {
  std::vector<double> out;
  // Logarithms of powers are whole but for rounding.
  constexpr double kSlack = 1e-9;
  const auto first = static_cast<int>(std::ceil(std::log(range.low) / std::log(base) - kSlack));
  const auto last = static_cast<int>(std::floor(std::log(range.high) / std::log(base) + kSlack));
  for (int i = first; i <= last; ++i) out.push_back(std::pow(base, i));
  return out;
}

// Of what has a place on it.
AxisRange logarithmic_range(const std::vector<double>& values) {
  constexpr double kMargin = 1.25;
  std::optional<AxisRange> out;
  for (const double value : values) {
    if (!(value > 0)) continue;
    if (!out) out = {value, value};
    out = {std::min(out->low, value), std::max(out->high, value)};
  }
  return out ? AxisRange{out->low / kMargin, out->high * kMargin} : AxisRange{1, 10};
}

}  // namespace

AxisRange axis_range(const ChartAxis& axis, const std::vector<double>& values) {
  if (!axis.categories.empty()) return {-0.5, static_cast<double>(axis.categories.size()) - 0.5};
  if (axis.scale == Scale::logarithmic) return logarithmic_range(values);
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  AxisRange out{*least, *most};
  if (axis.from_zero) out = {std::min(out.low, 0.0), std::max(out.high, 0.0)};
  if (out.low == out.high) {
    const double around = out.low == 0 ? 1 : std::abs(out.low) * 0.1;
    out = {out.low - around, out.high + around};
  }
  constexpr int kSteps = 6;
  const double step = step_of(out.high - out.low, kSteps);
  return {std::floor(out.low / step) * step, std::ceil(out.high / step) * step};
}

std::vector<double> axis_ticks(const ChartAxis& axis, const AxisRange& range, int wanted) {
  std::vector<double> out;
  if (!axis.categories.empty()) {
    const auto count = static_cast<int>(axis.categories.size());
    const int each = std::max(1, (count + wanted - 1) / wanted);
    for (int i = 0; i < count; i += each) out.push_back(i);
    return out;
  }
  if (axis.scale == Scale::logarithmic) {
    out = powers(10, range);
    constexpr std::size_t kFew = 3;
    if (out.size() < kFew) out = powers(2, range);
    while (static_cast<int>(out.size()) > wanted) {
      std::vector<double> fewer;
      for (std::size_t i = 0; i < out.size(); i += 2) fewer.push_back(out[i]);
      out = fewer;
    }
    return out;
  }
  const double step = step_of(range.high - range.low, wanted);
  // By whole multiples: sums of steps would not be equal on every machine.
  const auto first = static_cast<long>(std::ceil(range.low / step - 1e-9));
  const auto last = static_cast<long>(std::floor(range.high / step + 1e-9));
  for (long i = first; i <= last; ++i) out.push_back(static_cast<double>(i) * step);
  return out;
}

}  // namespace perfbench::reports
