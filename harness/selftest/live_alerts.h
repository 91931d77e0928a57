// Simulates the verdicts of nights while an alert is live (harness/judge/alert_rules.h): a regression that nobody
// repairs, and a second one after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/records/alert.h"
#include "harness/records/selftest_result.h"
#include "harness/stats/verdict.h"

namespace perfbench::harness {

// Simulates nights in which an alert of +3 % is in `state` and the pairs refute everything that the screen finds anew.
// Returns how many of `nights` nights have the verdict `expected`.
Proportion nights_that_say(Verdict expected, AlertState state, std::size_t nights);

// In how many of `series` series with an open alert of +3 % a second slowdown of 3 to 6 %, 45 nights later, opens an
// alert of its own within three nights. Pairs confirm the screen's date.
Proportion second_alerts(std::size_t series, std::uint64_t seed);

// The rows of all these simulations, and the share of those nights on which the screen alone would have reported a
// shift.
std::vector<SelftestResult> live_alert_rates(std::size_t series, std::uint64_t seed);

}  // namespace perfbench::harness
