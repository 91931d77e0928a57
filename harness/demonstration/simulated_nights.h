// A history for a demonstration: earlier nights made of runs of a moment ago, with noise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace perfbench::harness {

struct SimulatedNights {
  std::string sweep_prefix = "simulated-";  // of their ids, before the date: another one for every demonstration
  int nights = 60;
  double step_time_sd = 0.03;  // between nights, of the log: what small virtual machines show
  double startup_sd = 0.10;
  double resident_sd = 0.005;
  std::uint64_t seed = 1;
};

// Makes an attempt below `runs` for every night and every finished attempt of `base` (folders of attempts): the same
// run and environment, steps longer or shorter by one factor a night and attempt. Their sweeps are simulated nights,
// the newest one day before the base's; their version says `simulated`, so that nobody takes them for measurements.
// Returns the folders, oldest first. Throws InputError for a base that cannot be read, RunDirectoryError.
std::vector<std::filesystem::path> write_simulated_nights(const std::vector<std::filesystem::path>& base,
                                                          const std::filesystem::path& runs,
                                                          const SimulatedNights& how);

}  // namespace perfbench::harness
