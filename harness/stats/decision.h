// Whether a set of process runs differs from another: pure functions of numbers.
//
// The unit is the process run, never the step. Values are compared on the log scale. A verdict is given only when the
// sample could have given any. Runs that could have changed places, those of one session or of an amount that sessions
// do not change, are held to the exact two-sided permutation test of the difference of means, which cannot reach
// p < alpha below 5 runs a side (2 / C(10, 5) = 0.0079), or below 8 runs against a constant (2 / 2^8 = 0.0078). Smaller
// samples are INCONCLUSIVE, with the ratio that was seen.
// Runs of two sessions could not have: they are held to Student's t with the variance between sessions
// (between_sessions.h), and are INCONCLUSIVE where it is not known. What the noise probe moved between the sides may be
// in their difference, or not: it widens the interval both ways, and decides nothing.
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
  double margin_fraction = 0.02;       // differences below it do not matter: 2 % of a time, 1 % of memory
  double alpha = 0.01;                 // two-sided
  double probe_shift_fraction = 0.05;  // of the probes' medians, from which on the machine was another
  std::size_t most_runs = 8;           // the newest of each side that are used: C(16, 8) = 12870 permutations
};

DecisionRule decision_rule(const MetricRule& metric);

// One side: a value per process run, oldest first.
struct Sample {
  std::vector<double> values;
  std::vector<double> probe_s = {};        // median of each run's probe; may be empty
  std::vector<double> noisy = {};          // runs whose probe moved: shown, never used for a verdict
  std::vector<std::string> sessions = {};  // that each value is of; empty: all are of one that nobody else is of
  std::vector<SessionDay> days = {};       // on which each value was measured; empty: unknown
};

// What a table shows of a side: its values, or where it has none the noisy ones.
const std::vector<double>& shown_values(const Sample& sample);

// All of them: a quantity without noise needs no calm machine.
std::vector<double> all_values(const Sample& sample);

// Runs that could have changed places.
Decision decide(const Sample& current, const Sample& baseline, const DecisionRule& rule);

// Runs of a quantity that varies between sessions; where both sides turn out to be of the same ones, decide(). `known`
// are sessions of the same cell on the machine of both sides; those of the sides may be among them.
Decision decide_between_sessions(const Sample& current, const Sample& baseline, const DecisionRule& rule,
                                 const std::vector<SessionLevel>& known);

// What it takes to hold two unlike numbers against each other without a test. Equal ones need nothing.
enum class Exactness {
  counted,   // one run a side: it is counted, and nothing that computes it can move it
  repeated,  // two runs a side, which show that it repeats
  doubted,   // a test: other libraries or kernels round otherwise, or the run need not repeat
};

// What a metric of this noise takes where the same libraries and kernels compute both sides.
Exactness exactness_of(spec::MetricNoise noise);

// Of a quantity without noise (spec::MetricNoise): without a test, by whether the two numbers differ by more than the
// margin. Nothing unless each side repeats one number, as often as it takes; that may be 0, and is not negative.
std::optional<Decision> decide_exact(const std::vector<double>& current, const std::vector<double>& baseline,
                                     const DecisionRule& rule, Exactness exactness);

// Against a number without spread, such as a published one: the exact sign-flip test of the log ratios.
Decision decide_against_constant(const Sample& current, double baseline, const DecisionRule& rule);

// The smallest p that samples of these sizes can reach.
double smallest_p(std::size_t current_runs, std::size_t baseline_runs);
double smallest_p_against_constant(std::size_t runs);

}  // namespace perfbench::harness
