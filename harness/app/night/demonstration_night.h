// A history for a demonstration: earlier nights made of runs of a moment ago, with noise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/app/night/night.h"

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

// A night to look at without waiting for a fortnight of them: the nights before are simulated from runs of a moment
// ago, tonight's engine has a fault in one cell, and all times are of a clock that the engine's own work turns
// (engine/faults/work_clock.h), so that it shows the same beside whatever else is running. It measures nothing.
class DemonstrationNight : public Night {
 public:
  // `fault` is planted tonight (engine/faults/faults.h). Throws InputError for one that is none.
  DemonstrationNight(NightOptions options, std::string fault, const Installation& installation,
                     Interruption& interruption);

 private:
  AbSide ordinary_engine() const override;
  AbSide tonight(const std::string& cell) const override;
  bool can_measure(const Cell& cell) const override;  // a run on a GPU cannot have that clock
  void check_database(Connection& db) const override;
  void measure_cells(const PlannedWork& work) override;
  bool has_control() const override { return false; }

  void simulate_history(const PlannedWork& work);
  void measure_with_planted_fault(const PlannedWork& work);

  std::string fault_;
  std::optional<std::string> planted_cell_;  // that of a matrix without axes has an empty label
};

}  // namespace perfbench::harness
