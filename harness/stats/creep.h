// Whether a series of nights crept: a level, and from some night on the same small change every night up to the newest.
// Pure functions of numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace perfbench::harness {

struct Creep {
  std::size_t last_level = 0;  // index of the last night of the level: the trend begins after it
  double per_night = 0;        // log units
};

// The creep that a series of nights ends with, oldest first. A level and a trend have to fit all nights 20 times better
// than one step does: with AR(1) noise whose coefficient is estimated, and with outliers moved to 4 robust deviations
// from their neighbours. A step of the last nights is therefore no creep. The trend lasts at least 10 nights. Nothing
// for fewer than 26 nights.
std::optional<Creep> find_creep(std::span<const double> logs);

}  // namespace perfbench::harness
