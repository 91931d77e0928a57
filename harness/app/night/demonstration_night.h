// A history for a demonstration: earlier nights made from runs of a moment ago, with noise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/app/night/night.h"

namespace perfbench::harness {

struct SimulatedNights {
  std::string sweep_prefix = "simulated-";  // of their ids, before the date; different for every demonstration
  int nights = 60;
  double step_time_sd = 0.03;  // between nights, of the log: typical of small virtual machines
  double startup_sd = 0.10;
  double resident_sd = 0.005;
  std::uint64_t seed = 1;
};

// Makes an attempt below `runs` for every night and every finished attempt of `base` (folders of attempts): the same
// run and environment, with steps longer or shorter by one factor for each night and attempt. Their sweeps are
// simulated nights, the newest one a day before the base's. Their version says `simulated`, so that they cannot be
// taken for measurements. Returns the folders, oldest first. Throws InputError for a base that cannot be read,
// RunDirectoryError.
std::vector<std::filesystem::path> write_simulated_nights(const std::vector<std::filesystem::path>& base,
                                                          const std::filesystem::path& runs,
                                                          const SimulatedNights& how);

// Demonstrates a night without waiting for a fortnight of them: earlier nights are simulated from runs of a moment ago,
// and tonight's engine has a fault in one cell. All times come from a clock that counts the engine's own work
// (engine/faults/work_clock.h), so that the result does not depend on what else is running. It measures nothing.

// The options of such a night. Other load on the machine spoils none of its pairs, because it changes none of its
// times.
NightOptions demonstration_options(NightOptions options);

// In place of measure(). `fault` is planted tonight. Throws InputError for an unknown fault (engine/faults/faults.h).
Measured measure_demonstration(Night& night, const std::string& fault);

}  // namespace perfbench::harness
