// Decides whether a set of process runs differs from another. Pure functions of numbers.
//
// The unit is the process run, never the step, and values are compared on the log scale. A verdict is given only where
// the sample could have led to one.
//
// Runs of one session are exchangeable, and so are all runs of a quantity that does not vary between sessions. They get
// the exact two-sided permutation test of the difference of means. It cannot reach p < alpha below 5 runs a side (2 /
// C(10, 5) = 0.0079), or below 8 runs against a constant (2 / 2^8 = 0.0078). Smaller samples are INCONCLUSIVE, with the
// observed ratio.
//
// Runs of two sessions are not exchangeable. They get Student's t test with the variance between sessions
// (between_sessions.h), and are INCONCLUSIVE where that variance is unknown. If the noise probe moved between the
// sides, that change may or may not be part of their difference: it widens the interval in both directions and decides
// nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/stats/between_sessions.h"
#include "harness/stats/verdict.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

struct DecisionRule {
  spec::Direction direction = spec::Direction::lower_is_better;
  double margin_fraction = 0.02;       // smaller differences do not matter: 2 % of a time, 1 % of memory
  double alpha = 0.01;                 // two-sided
  double probe_shift_fraction = 0.05;  // if the medians of the probes differ by more, the machine ran at another speed
  std::size_t most_runs = 8;           // only the newest of each side are used: C(16, 8) = 12870 permutations
};

DecisionRule decision_rule(const MetricRule& metric);

// One side: a value per process run, oldest first.
struct Sample {
  std::vector<double> values;
  std::vector<double> probe_s = {};  // median of each run's probe; may be empty
  std::vector<double> noisy = {};    // values of runs whose probe moved: shown, never used for a verdict
  std::vector<std::string> sessions =
      {};  // session of each value; empty: all values share one session, which the other side does not have
  std::vector<SessionDay> days = {};  // day of each value; empty: unknown
};

// The values of a side that a table shows: the steady ones or, if there is none, the noisy ones.
const std::vector<double>& shown_values(const Sample& sample);

// The steady and the noisy values: a quantity without noise needs no steady machine.
std::vector<double> all_values(const Sample& sample);

// For exchangeable runs: those of one session, or of a quantity that does not vary between sessions.
Decision decide(const Sample& current, const Sample& baseline, const DecisionRule& rule);

// For a quantity that varies between sessions. Same as decide() where both sides turn out to have the same sessions.
// `known` are sessions of the same cell on the machine of both sides, and may include those of the sides.
Decision decide_between_sessions(const Sample& current, const Sample& baseline, const DecisionRule& rule,
                                 const std::vector<SessionLevel>& known);

// The evidence needed to compare two different numbers without a test. Equal numbers need none.
enum class Exactness {
  counted,   // one run a side: the number is counted, and whatever computes it cannot move it
  repeated,  // two runs a side, which show that the number repeats
  doubted,   // a test: other libraries or kernels round differently, or the run may not repeat
};

// The evidence that a metric of this noise needs where the same libraries and kernels compute both sides.
Exactness exactness_of(spec::MetricNoise noise);

// For a quantity without noise (spec::MetricNoise): no test, only whether the two numbers differ by more than the
// margin. nullopt unless each side repeats one number as often as `exactness` asks for. The number may be 0 and is
// never negative.
std::optional<Decision> decide_exact(const std::vector<double>& current, const std::vector<double>& baseline,
                                     const DecisionRule& rule, Exactness exactness);

// Compares with a number without spread, such as a published one: the exact sign-flip test of the log ratios.
Decision decide_against_constant(const Sample& current, double baseline, const DecisionRule& rule);

// The smallest p that samples of these sizes can reach.
double smallest_p(std::size_t current_runs, std::size_t baseline_runs);
double smallest_p_against_constant(std::size_t runs);

}  // namespace perfbench::harness
