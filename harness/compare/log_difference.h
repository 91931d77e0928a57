// The difference of two means on the log scale, and what its spread allows to say. Shared by every decision.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/compare/verdict.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

struct LogDifference {
  double mean = 0;
  double error = 0;    // standard error; 0 with fewer than two values (a side)
  double freedom = 0;  // degrees of freedom of Student's t; 0 where there is no spread to speak of

  bool has_spread() const { return freedom > 0; }
  Interval interval(double confidence) const;

  // Two-sided p of Student's t against a mean of 0. Needs has_spread(). Without any variation it is 0, or 1 for a mean
  // of exactly 0.
  double t_p() const;
};

// Mean of a minus mean of b, by Welch and Satterthwaite.
LogDifference welch_difference(const std::vector<double>& a, const std::vector<double>& b);

// Mean of d against 0.
LogDifference mean_difference(const std::vector<double>& d);

// The log ratio that a two-sided t test at `alpha` finds with power 0.8, by the sum of the two quantiles:
// (t(1 - alpha/2) + t(0.8)) * error.
double detectable_log(const LogDifference& difference, double alpha);

// The fewest values, of this standard deviation, from which on detectable_log() is at most `log_margin`. At least
// `fewest`.
std::size_t values_needed(double deviation, double log_margin, double alpha, std::size_t fewest);

// Fills ratio and ratio_95.
void describe(Decision& decision, const LogDifference& difference);

// Fills verdict, reason and detail.
void conclude(Decision& decision, Verdict verdict, VerdictReason reason, std::string detail);

Verdict direction_verdict(double log_ratio, spec::Direction direction);

// "1.5 %"
std::string percent(double fraction);

}  // namespace perfbench::harness
