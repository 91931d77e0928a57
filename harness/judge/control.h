// The drift of the machine itself, as the control shows it: the same engine binary runs every night.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/records/series.h"

namespace perfbench::harness {

// Nights of the control that can be compared: on one machine, with one engine (by its commit). Another engine has
// another level.
using ControlSegment = std::pair<std::string, std::string>;
ControlSegment control_segment(const NightPoint& night);

// The share of the control's drift that the cells of the same nights have in common with it: the slope of their
// regression, cov(logs, drifts) / var(drifts), limited to 0 .. 1. If the control's noise is only its own, it says
// nothing about a cell, and subtracting it would add noise. Both vectors cover the same nights, at least two.
double control_share(const std::vector<double>& logs, const std::vector<double>& drifts);

// Drift of each machine, night by night: the mean over the control's cells of log(value) minus the cell's median in the
// segment. Segments of fewer than three nights are left out. 0 is an ordinary night.
class ControlDrift {
 public:
  // Ignores all series except the control's.
  explicit ControlDrift(const std::vector<SeriesHistory>& series);

  // The drift of the night with the same sweep id, or else of the control's nearest night within 12 hours; nullopt if
  // there is none.
  std::optional<double> log_of(const NightPoint& night) const;

 private:
  struct Drift {
    double sum = 0;
    int cells = 0;
    std::string sweep_id;
  };
  std::map<std::string, std::map<std::int64_t, Drift>> machines_;  // by machine, by start in seconds
};

}  // namespace perfbench::harness
