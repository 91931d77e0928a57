// The results of a night, for display.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/alert_rules.h"
#include "harness/judge/night_cells.h"
#include "harness/judge/night_verdict.h"
#include "harness/judge/screening.h"

namespace perfbench::harness {

// A series of a metric that shifted according to the screen, whatever the pairs said afterwards.
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
  std::size_t series = 0;          // over all metrics
  std::size_t too_few_nights = 0;  // of these: not screened
  std::vector<std::string>
      not_run;  // sentences about engines that the night needed but could not run, so that it is undecided
  std::vector<UnseenCell> unseen;
  std::vector<NightCell> cells;    // all except the planned ones, the worst first
  std::vector<std::string> notes;  // facts that a reader should know: no control, a simulated history
  std::vector<NightFinding> findings;
  std::vector<ShiftedSeries> shifted;
  std::vector<AlertGroup> live_alerts;
  Verdict verdict = Verdict::same;  // of tonight, and of the live alerts unless they are ignored
};

}  // namespace perfbench::harness
