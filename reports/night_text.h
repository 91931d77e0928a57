// A night as people read it, and as CI systems do.
#pragma once

#include <vector>

#include "harness/app/night_report.h"
#include "reports/check.h"
#include "reports/format/markdown_text.h"

namespace perfbench::reports {

Markdown night_markdown(const harness::NightReport& report);

// A check per finding (an unconfirmed one is undecided) and per cell of which nothing is known (undecided), and one for
// the screen as a whole.
std::vector<Check> night_checks(const harness::NightReport& report);

}  // namespace perfbench::reports
