#include "harness/stats/leveling.h"

#include <algorithm>
#include <set>

#include "harness/stats/statistics.h"

namespace perfbench::harness {
std::vector<double> at_newest_level(std::vector<double> logs, std::span<const std::size_t> first_shifted,
                                    const ScreenRule& rule) {
  std::set<std::size_t> ordered(first_shifted.begin(), first_shifted.end());
  ordered.erase(0);
  ordered.erase(ordered.lower_bound(logs.size()), ordered.end());
  // Oldest first: the nights before the second shift are then on one level.
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
