// A night as people and programs read it, and as CI systems do.
#pragma once

#include <vector>

#include "harness/app/night/night_report.h"
#include "reports/content/checks.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// What was measured, the state of each cell, what was found, and the alerts that are live.
Document night_document(const harness::NightReport& report);

// A check for each cell (undecided where its findings are, and where nothing judged it), one for each engine that did
// not run, and one for the screen as a whole. The check of a cell has the same name every night.
std::vector<Check> night_checks(const harness::NightReport& report);

}  // namespace perfbench::reports
