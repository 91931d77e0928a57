// How the machine itself drifted, as the control shows it: the same engine binary run every night.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/history/series.h"

namespace perfbench::harness {

// Drift of each machine, night by night: the mean over the control's cells of log(value) less that cell's median on the
// machine. 0 is an ordinary night.
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
