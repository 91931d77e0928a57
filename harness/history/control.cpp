#include "harness/history/control.h"

#include <cmath>
#include <cstdlib>

#include "harness/detect/statistics.h"

namespace perfbench::harness {
namespace {

constexpr std::int64_t kNearest_s = 12 * 3600;

}  // namespace

ControlDrift::ControlDrift(const std::vector<SeriesHistory>& series) {
  for (const auto& cell : series) {
    if (!cell.is_control) continue;
    std::map<std::string, std::vector<double>> logs;
    for (const auto& night : cell.nights) logs[night.machine].push_back(std::log(night.value));
    for (const auto& night : cell.nights) {
      auto& drift = machines_[night.machine][night.started_s];
      drift.sum += std::log(night.value) - median(logs.at(night.machine));
      ++drift.cells;
      drift.sweep_id = night.night.sweep_id;
    }
  }
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
