// Permutation tests of means, exact.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/stats/verdict.h"

namespace perfbench::harness {

// Two-sided p of the difference of means under every split of the pooled values into groups of these sizes. At most 20
// values in all.
double permutation_p(const std::vector<double>& a, const std::vector<double>& b);

// Two-sided p of the mean under every change of signs; beyond 20 values, and up to 64, under 99999 random ones and the
// observed one, always the same.
double sign_flip_p(const std::vector<double>& d);

// The difference of two means on the log scale, and what its spread allows to say. Shared by every decision.
struct LogDifference {
  double mean = 0;
  double error = 0;    // standard error; 0 with fewer than two values (a side)
  double freedom = 0;  // degrees of freedom of Student's t; 0 where there is no spread to speak of
  double doubt = 0;    // by which the mean may be off either way: not noise, and no number of runs makes it smaller

  bool has_spread() const { return freedom > 0; }
  Interval interval(double confidence) const;

  // Two-sided p of Student's t against a mean of 0, or of the doubt where the mean is beyond it. Needs has_spread().
  // Without any variation it is 0, or 1 for a mean that the doubt explains.
  double t_p() const;
};

// Mean of a minus mean of b, by Welch and Satterthwaite.
LogDifference welch_difference(const std::vector<double>& a, const std::vector<double>& b);

// Mean of d against 0.
LogDifference mean_difference(const std::vector<double>& d);

// Mean of B minus A of n pairs of runs. Its error comes from all 2 n runs, as if unpaired (2 n - 2 degrees of freedom),
// unless the runs of a pair have more in common than chance explains: where the means of the pairs vary more than the
// differences within them (F test at 0.05), it comes from the differences alone (n - 1), which is what pairs are for.
// Such a preliminary test costs a little of the level (Bancroft, Annals of Mathematical Statistics 15, 1944, p. 190).
// All runs together suppose that both sides have the same noise, as sides have between which nothing changed: 8
// Gaussian pairs at 0.01 are wrong in 1.2 % then, in 1.5 % where one side has 3 times the deviation, in 2 % at 9 times;
// and in 1.6 % under AR(1) noise of -0.3 (NumPy, 40000 trials each). What being second costs cancels (pairs.h).
struct PairedDifference {
  LogDifference difference;
  bool pooled = false;  // the error is that of all runs
};
PairedDifference paired_difference(const std::vector<double>& a, const std::vector<double>& b);

// The log ratio that a two-sided t test at `alpha` finds with power 0.8, by the sum of the two quantiles:
// (t(1 - alpha/2) + t(0.8)) * error, and the doubt.
double detectable_log(const LogDifference& difference, double alpha);

// The fewest values, of this standard deviation, from which on detectable_log() is at most `log_margin`. At least
// `fewest`. Each value beyond the first gives `freedom_each` degrees of freedom.
std::size_t values_needed(double deviation, double log_margin, double alpha, std::size_t fewest, double freedom_each);

// Fills ratio and ratio_95.
void describe(Decision& decision, const LogDifference& difference);

// "1.5 %"
std::string percent(double fraction);

}  // namespace perfbench::harness
