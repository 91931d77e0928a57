#include "reports/render/format/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace perfbench::reports {

std::string sparkline(const std::vector<double>& values, std::size_t most, double smallest_range) {
  static constexpr std::array kHeights{"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
  if (values.empty()) return {};
  const auto from = values.end() - static_cast<std::ptrdiff_t>(std::min(most, values.size()));
  const auto [low, high] = std::minmax_element(from, values.end());
  const double middle = (*low + *high) / 2;
  const double range = std::max(*high - *low, smallest_range * std::abs(middle));
  std::string out;
  for (auto value = from; value != values.end(); ++value) {
    const double fraction = range == 0 ? 0.5 : (*value - middle) / range + 0.5;
    const auto last = static_cast<double>(kHeights.size() - 1);
    out += kHeights[static_cast<std::size_t>(std::lround(fraction * last))];
  }
  return out;
}

}  // namespace perfbench::reports
