#include "harness/judge/control.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "harness/stats/statistics.h"

namespace perfbench::harness {
namespace {

constexpr std::int64_t kNearest_s = 12 * 3600;
constexpr std::size_t kFewestOfSegment =
    3;  // with a single night, the median is that night, and the drift would always be 0

}  // namespace

ControlDrift::ControlDrift(const std::vector<SeriesHistory>& series) {
  for (const auto& cell : series) {
    if (!cell.is_control) continue;
    std::map<ControlSegment, std::vector<double>> logs;
    for (const auto& night : cell.nights) logs[control_segment(night)].push_back(std::log(night.value));
    for (const auto& night : cell.nights) {
      const auto& of_segment = logs.at(control_segment(night));
      if (of_segment.size() < kFewestOfSegment) continue;
      auto& drift = machines_[night.machine][night.started_s];
      drift.sum += std::log(night.value) - median(of_segment);
      ++drift.cells;
      drift.sweep_id = night.night.sweep_id;
    }
  }
}

ControlSegment control_segment(const NightPoint& night) {
  return {night.machine, night.night.revision};
}

double control_share(const std::vector<double>& logs, const std::vector<double>& drifts) {
  return std::clamp(regression_slope(logs, drifts), 0.0, 1.0);
}

std::optional<double> ControlDrift::log_of(const NightPoint& night) const {
  const auto machine = machines_.find(night.machine);
  if (machine == machines_.end()) return std::nullopt;
  const Drift* nearest = nullptr;
  auto distance_s = kNearest_s;
  const auto& nights = machine->second;
  for (auto at = nights.lower_bound(night.started_s - kNearest_s);
       at != nights.upper_bound(night.started_s + kNearest_s); ++at) {
    const auto away_s = at->second.sweep_id == night.night.sweep_id ? 0 : std::abs(at->first - night.started_s);
    if (away_s > distance_s) continue;
    nearest = &at->second;
    distance_s = away_s;
  }
  if (nearest == nullptr) return std::nullopt;
  return nearest->sum / nearest->cells;
}

}  // namespace perfbench::harness
