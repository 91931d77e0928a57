// A comparison of two sides (harness/ab) as a table for people and for programs.
#pragma once

#include <string>

#include "harness/app/ab_comparison.h"
#include "reports/document/document.h"

namespace perfbench::reports {

// Who was compared, a row per cell and metric, what each verdict rests on, what was discarded and why.
Document ab_document(const harness::AbReport& report);

// "passed", "failed" (something regressed) or "refused".
std::string gate_outcome(const harness::AbReport& report);

}  // namespace perfbench::reports
