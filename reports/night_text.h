// A night as people read it, and as CI systems do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/alerts/alert_rules.h"
#include "harness/nightly/night_verdict.h"
#include "reports/check.h"
#include "reports/format/markdown_text.h"

namespace perfbench::reports {

struct NightReport {
  std::string matrix;
  std::string started_utc;
  std::string sweep_id;
  std::size_t cells_ok = 0;
  std::size_t cells_failed = 0;
  std::size_t cells_not_run = 0;  // infeasible or excluded
  std::size_t series = 0;         // screened
  std::size_t too_few_nights = 0;
  std::vector<std::string>
      not_run;  // sentences: engines that the night needed and could not run, so that it is undecided
  std::vector<harness::UnseenCell> unseen;
  std::vector<std::string> notes;  // what a reader should know: no control, a simulated history
  std::vector<harness::NightFinding> findings;
  std::vector<harness::AlertGroup> live_alerts;
};

Markdown night_markdown(const NightReport& report);

// A check per finding (an unconfirmed one is undecided) and per cell of which nothing is known (undecided), and one for
// the screen as a whole.
std::vector<Check> night_checks(const NightReport& report);

}  // namespace perfbench::reports
