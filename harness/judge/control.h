// How the machine itself drifted, as the control shows it: the same engine binary run every night.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/records/series.h"

namespace perfbench::harness {

// Nights of the control that tell of each other: on one machine, of one engine (by its commit). Another engine is
// another level.
using ControlSegment = std::pair<std::string, std::string>;
ControlSegment control_segment(const NightPoint& night);

// How much of the control's drift the cells of the same nights have: the slope of their regression, cov(logs, drifts) /
// var(drifts), from 0 to 1. A control whose noise is its own says nothing of a cell, and taking it off whole would add
// that noise. Both of the same nights, at least two.
double control_share(const std::vector<double>& logs, const std::vector<double>& drifts);

// Drift of each machine, night by night: the mean over the control's cells of log(value) less that cell's median in the
// segment; nothing of a segment of fewer than three nights. 0 is an ordinary night.
class ControlDrift {
 public:
  // Series of anything but the control are passed over.
  explicit ControlDrift(const std::vector<SeriesHistory>& series);

  // Of the night with the same sweep id, or else of the control's nearest night within 12 hours; nothing without.
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
