// A night as people and programs read it, and as CI systems do.
#pragma once

#include <vector>

#include "harness/app/night_report.h"
#include "reports/check.h"
#include "reports/document/document.h"

namespace perfbench::reports {

// What was measured, what could not be seen, what was found, and the alerts that are live.
Document night_document(const harness::NightReport& report);

// A check per finding (an unconfirmed one is undecided) and per cell of which nothing is known (undecided), and one for
// the screen as a whole.
std::vector<Check> night_checks(const harness::NightReport& report);

}  // namespace perfbench::reports
