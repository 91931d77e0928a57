// Measured error rates for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "harness/selftest/result.h"
#include "reports/format/markdown_text.h"

namespace perfbench::reports {

// One table a kind: noise, measure, value with its 95 % interval, goal, met.
Markdown selftest_markdown(const std::vector<harness::SelftestResult>& results);
std::string selftest_csv(const std::vector<harness::SelftestResult>& results);

}  // namespace perfbench::reports
