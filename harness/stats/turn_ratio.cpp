#include "harness/stats/turn_ratio.h"

#include <algorithm>
#include <cmath>

#include "harness/stats/statistics.h"
#include "harness/stats/steady.h"

namespace perfbench::harness {

std::optional<double> median_log_ratio(const std::vector<double>& a_step_s, const std::vector<double>& b_step_s) {
  if (a_step_s.empty() || a_step_s.size() != b_step_s.size()) return std::nullopt;
  std::vector<double> ratios;
  for (auto i = std::max(find_steady_steps(a_step_s).first, find_steady_steps(b_step_s).first); i < a_step_s.size();
       ++i) {
    if (!(a_step_s[i] > 0 && b_step_s[i] > 0)) return std::nullopt;
    ratios.push_back(std::log(b_step_s[i] / a_step_s[i]));
  }
  return median(ratios);
}

}  // namespace perfbench::harness
