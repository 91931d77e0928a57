// Measures the error rates of perfbench's own verdicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/records/selftest_result.h"

namespace perfbench::harness {

struct SelftestSize {
  std::size_t aa_trials = 0;
  std::size_t power_trials = 0;
  std::size_t series_years = 0;  // for every noise kind
  std::size_t delay_series = 0;  // for every noise kind and size of shift
  std::size_t session_trials = 0;
  std::size_t detection_trials = 0;
};

inline constexpr SelftestSize kFullSelftest{.aa_trials = 40000,
                                            .power_trials = 20000,
                                            .series_years = 200,
                                            .delay_series = 400,
                                            .session_trials = 10000,
                                            .detection_trials = 4000};
inline constexpr SelftestSize kQuickSelftest{.aa_trials = 4000,
                                             .power_trials = 1500,
                                             .series_years = 12,
                                             .delay_series = 25,
                                             .session_trials = 1500,
                                             .detection_trials = 400};

// Returns the same rows for the same seed and size, on any number of cores.
std::vector<SelftestResult> run_selftest(const SelftestSize& size, std::uint64_t seed);

}  // namespace perfbench::harness
