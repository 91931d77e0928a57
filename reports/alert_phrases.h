// An alert in words: the phrases that every output shares.
#pragma once

#include <string>

#include "harness/alerts/alert_rules.h"

namespace perfbench::reports {

std::string change_text(const harness::Finding& finding);   // "+5.0 % (95 %: +3.0 % to +7.0 %)"; kNothing without
std::string subject_text(const harness::Finding& finding);  // "regression of step_time_s in nightly, model=a"
std::string range_text(const harness::Finding& finding);    // "rev09..rev10", kNothing where a side is unknown
std::string range_text(const harness::AlertGroup& group);
std::string facts_text(const harness::Finding& finding);  // "kernel 6.1 -> 6.5; ..."; empty without a change
// The three largest lines: "gemm +3.50 ms (70.0 %), idle +1.50 ms (30.0 %)"; empty without any.
std::string attribution_text(const harness::Finding& finding);

}  // namespace perfbench::reports
