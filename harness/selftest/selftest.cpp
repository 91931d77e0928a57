#include "harness/selftest/selftest.h"

#include "harness/selftest/after_shift.h"
#include "harness/selftest/budget_rates.h"
#include "harness/selftest/creep_rates.h"
#include "harness/selftest/detection_rates.h"
#include "harness/selftest/live_alerts.h"
#include "harness/selftest/noise_change_rates.h"
#include "harness/selftest/pair_rates.h"
#include "harness/selftest/screen_rates.h"
#include "harness/selftest/session_rates.h"

namespace perfbench::harness {

std::vector<SelftestResult> run_selftest(const SelftestSize& size, std::uint64_t seed) {
  std::vector<SelftestResult> out;
  const auto append = [&](const std::vector<SelftestResult>& rows) { out.insert(out.end(), rows.begin(), rows.end()); };
  const auto aa = aa_rates(size.aa_trials, seed);  // the first row of each noise kind is for 8 pairs
  append(aa);
  append(session_aa_rates(size.session_trials, seed));
  append(equivalence_rates(size.power_trials, seed));
  append(coverage_rates(size.power_trials, seed));
  append(power_curve(size.power_trials, seed));
  append(session_power(size.session_trials, seed));
  append(detection_rates(size.detection_trials, seed));
  append(false_alarms(size.series_years, aa, seed));
  append(delays(size.delay_series, seed));
  append(after_shift_rates(size.delay_series, size.series_years, seed));
  append(budget_rates(size.delay_series, size.series_years, seed));
  append(creep_rates(size.delay_series, seed));
  append(noise_change_rates(size.delay_series, size.series_years, seed));
  append(live_alert_rates(size.delay_series, seed));
  return out;
}

}  // namespace perfbench::harness
