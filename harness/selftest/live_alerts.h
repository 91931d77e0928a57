// What nights say while an alert is live (harness/judge/alert_rules.h), simulated: a regression that nobody mends, and
// a second one behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/records/alert.h"
#include "harness/records/selftest_result.h"
#include "harness/stats/verdict.h"

namespace perfbench::harness {

// What `nights` nights say in which the pairs refute all that the screen finds anew, while an alert of +3 % is in
// `state`: how many of them say `expected`.
Proportion nights_that_say(Verdict expected, AlertState state, std::size_t nights);

// Of `series` with an open alert of +3 %, in how many a second slowdown of 3 to 6 %, 45 nights later, is an alert of
// its own within three nights. Pairs confirm what the screen dates.
Proportion second_alerts(std::size_t series, std::uint64_t seed);

// The rows of all that, and on how many of those nights the screen alone would have spoken.
std::vector<SelftestResult> live_alert_rates(std::size_t series, std::uint64_t seed);

}  // namespace perfbench::harness
