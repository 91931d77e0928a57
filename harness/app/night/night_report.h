// What a night came to, for whoever shows it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/alert_rules.h"
#include "harness/judge/night_cells.h"
#include "harness/judge/night_verdict.h"
#include "harness/judge/screening.h"

namespace perfbench::harness {

// A series of a metric that the screen says has shifted, whatever pairs then said.
struct ShiftedSeries {
  std::string metric;
  ScreenedSeries series;
};

struct NightReport {
  std::string matrix;
  std::string started_utc;
  std::string sweep_id;
  std::size_t cells_ok = 0;
  std::size_t cells_failed = 0;
  std::size_t cells_not_run = 0;   // infeasible or excluded
  std::size_t series = 0;          // of all metrics
  std::size_t too_few_nights = 0;  // of these: not screened
  std::vector<std::string>
      not_run;  // sentences: engines that the night needed and could not run, so that it is undecided
  std::vector<UnseenCell> unseen;
  std::vector<NightCell> cells;    // all but the planned ones, the worst first
  std::vector<std::string> notes;  // what a reader should know: no control, a simulated history
  std::vector<NightFinding> findings;
  std::vector<ShiftedSeries> shifted;
  std::vector<AlertGroup> live_alerts;
  Verdict verdict = Verdict::same;  // of tonight, and of the live alerts unless they were not asked
};

}  // namespace perfbench::harness
