// A comparison of two sides (harness/ab) as a table for people and as JSON for programs.
#pragma once

#include <string>

#include "harness/app/ab_comparison.h"
#include "reports/format/markdown_text.h"

namespace perfbench::reports {

// Markdown: who was compared, a row per cell and metric, what each verdict rests on, what was discarded and why.
Markdown ab_markdown(const harness::AbReport& report);
std::string ab_json(const harness::AbReport& report);

// "passed", "failed" (something regressed) or "refused".
std::string gate_outcome(const harness::AbReport& report);

}  // namespace perfbench::reports
