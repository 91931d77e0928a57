// Exact permutation tests of means.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/stats/verdict.h"

namespace perfbench::harness {

// Two-sided p of the difference of means, over every split of the pooled values into groups of these sizes. At most 20
// values in all.
double permutation_p(const std::vector<double>& a, const std::vector<double>& b);

// Two-sided p of the mean, over every change of signs. For 21 to 64 values it uses 99999 random changes, always the
// same ones, and the observed one.
double sign_flip_p(const std::vector<double>& d);

// The difference of two means on the log scale and its spread. Every decision uses it.
struct LogDifference {
  double mean = 0;
  double error = 0;    // standard error; 0 with fewer than two values on a side
  double freedom = 0;  // degrees of freedom of Student's t; 0 where there is no spread to estimate
  double doubt = 0;  // systematic error of the mean in either direction: not noise, so more runs do not make it smaller

  bool has_spread() const { return freedom > 0; }
  Interval interval(double confidence) const;

  // Two-sided p of Student's t test that the mean is 0 or, where the mean is larger than the doubt, that it equals the
  // doubt. Needs has_spread(). Without any variation p is 0, or 1 for a mean that the doubt explains.
  double t_p() const;
};

// Mean of a minus mean of b, with Welch and Satterthwaite's error.
LogDifference welch_difference(const std::vector<double>& a, const std::vector<double>& b);

// Compares the mean of d with 0.
LogDifference mean_difference(const std::vector<double>& d);

// Mean of B minus A over n pairs of runs. Its error comes from all 2 n runs, as if they were not paired (2 n - 2
// degrees of freedom), unless the runs of a pair have more in common than chance explains. Where the means of the pairs
// vary more than the differences within them (F test at 0.05), the error comes from the differences alone (n - 1
// degrees of freedom), which is the purpose of pairs. Such a preliminary test costs a little of the level (Bancroft,
// Annals of Mathematical Statistics 15, 1944, p. 190). Pooling all runs assumes that both sides have the same noise, as
// unchanged sides do: 8 Gaussian pairs tested at 0.01 are then wrong in 1.2 % of comparisons, in 1.5 % where one side
// has 3 times the deviation, in 2 % at 9 times, and in 1.6 % under AR(1) noise of -0.3 (NumPy, 40000 trials each). The
// effect of being second in a pair cancels (pairs.h).
struct PairedDifference {
  LogDifference difference;
  bool pooled = false;  // whether the error comes from all runs
};
PairedDifference paired_difference(const std::vector<double>& a, const std::vector<double>& b);

// The log ratio that a two-sided t test at `alpha` finds with power 0.8, as the sum of the two quantiles: (t(1 -
// alpha/2) + t(0.8)) * error, plus the doubt.
double detectable_log(const LogDifference& difference, double alpha);

// The smallest number of values of this standard deviation with which detectable_log() is at most `log_margin`, and at
// least `fewest`. Each value beyond the first adds `freedom_each` degrees of freedom.
std::size_t values_needed(double deviation, double log_margin, double alpha, std::size_t fewest, double freedom_each);

// Fills ratio and ratio_95.
void describe(Decision& decision, const LogDifference& difference);

// "1.5 %"
std::string percent(double fraction);

}  // namespace perfbench::harness
