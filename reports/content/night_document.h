// A night in the formats for people, for programs and for CI systems.
#pragma once

#include <string>
#include <vector>

#include "harness/app/night/night_report.h"
#include "reports/content/checks.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// The measurements, the state of each cell, the findings, and the live alerts. For open alerts it has the commands to
// find the commit and to acknowledge; `db` is the path of the database in them.
Document night_document(const harness::NightReport& report, const std::string& db);

// A check for each cell (undecided if its findings are, or if nothing judged it), one for each engine that did not run,
// and one for the screen as a whole. The check of a cell has the same name every night.
std::vector<Check> night_checks(const harness::NightReport& report);

}  // namespace perfbench::reports
