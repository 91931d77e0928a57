// Simulated nights, for tests of code that reads histories.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "harness/store/queries/series.h"

namespace perfbench::harness {

inline constexpr std::int64_t kFirstNight_s = 1767232800;  // 2026-01-01T02:00:00Z

// Night `n`, from 0, one a day; dates need not exist in the calendar, but sort like real ones.
inline NightPoint example_point(int n, double value, const std::string& machine = "m1") {
  const auto number = std::to_string(1000 + n);
  NightPoint out;
  out.night = {.sweep_id = "night-" + number, .started_utc = "2026-" + number, .revision = "rev" + number};
  out.started_s = kFirstNight_s + std::int64_t{86400} * n;
  out.machine = machine;
  out.facts = std::make_shared<std::map<std::string, std::string>>(
      std::map<std::string, std::string>{{"hostname", machine}, {"git_commit", out.night.revision}});
  out.value = value;
  out.runs = 3;
  return out;
}

// Gaussian noise of `sd` (log units) around `level`.
inline SeriesHistory example_series(const std::string& cell, int nights, double level = 1, double sd = 0.01,
                                    unsigned seed = 1) {
  SeriesHistory out{
      .matrix = "nightly", .cell = cell, .run_id = std::string(64, 'a'), .metric = "step_time_s", .nights = {}};
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, sd);
  for (int n = 0; n < nights; ++n) out.nights.push_back(example_point(n, level * std::exp(noise(random))));
  return out;
}

inline void multiply_from(SeriesHistory& series, std::size_t first, double factor) {
  for (std::size_t i = first; i < series.nights.size(); ++i) series.nights[i].value *= factor;
}

}  // namespace perfbench::harness
