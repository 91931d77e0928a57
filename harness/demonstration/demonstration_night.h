// A night to look at without waiting for a fortnight of them: the nights before are simulated from runs of a moment
// ago, tonight's engine has a fault in one cell, and all times are of a clock that the engine's own work turns
// (engine/faults/work_clock.h), so that it shows the same beside whatever else is running. It measures nothing.
#pragma once

#include <optional>
#include <string>

#include "harness/app/night.h"

namespace perfbench::harness {

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
