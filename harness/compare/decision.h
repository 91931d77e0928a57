// Whether a set of process runs differs from another: pure functions of numbers.
//
// The unit is the process run, never the step. Values are compared on the log scale. A verdict is given only when the
// sample could have given any: the test is the exact two-sided permutation test of the difference of means, which
// cannot reach p < alpha below 5 runs a side (2 / C(10, 5) = 0.0079), or below 8 runs against a constant
// (2 / 2^8 = 0.0078). Smaller samples are INCONCLUSIVE, with the ratio that was seen.
// The two sides of a stored baseline were not run in turns, so drift of the machine between them is not randomised
// away; a moved probe says so where it can.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/spec/fields.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

enum class Verdict { regressed, improved, same, inconclusive, not_comparable };

enum class VerdictReason {
  significant,            // p < alpha, and not inside the margin
  equivalent,             // the 90 % interval of the ratio lies inside the margin
  too_few_runs,           // no outcome of the test could have decided
  not_significant,        // the test could have decided, but did not
  machine_speed_changed,  // the noise probe ran at another speed on the two sides
  all_noisy,              // the probe moved during every run of a side
  no_measurement,         // a side has no run with this metric
  other_work,             // the sides do not compute the same
  other_machine,          // the sides ran on unlike machines
  no_baseline,            // the baseline holds nothing for this cell
  same_runs,              // the baseline is made of the very runs that are compared with it
};

struct DecisionRule {
  spec::Direction direction = spec::Direction::lower_is_better;
  double margin_fraction = 0.02;       // differences below it do not matter: 2 % of a time, 1 % of memory
  double alpha = 0.01;                 // two-sided
  double probe_shift_fraction = 0.05;  // of the probes' medians, from which on the machine was another
  std::size_t most_runs = 8;           // the newest of each side that are used: C(16, 8) = 12870 permutations
};

// One side: a value per process run, oldest first.
struct Sample {
  std::vector<double> values;
  std::vector<double> probe_s = {};  // median of each run's probe; may be empty
  std::vector<double> noisy = {};    // runs whose probe moved: shown, never used for a verdict
};

// What a table shows of a side: its values, or where it has none the noisy ones.
const std::vector<double>& shown_values(const Sample& sample);

struct Interval {
  double low = 0;
  double high = 0;
};

struct Decision {
  Verdict verdict = Verdict::inconclusive;
  VerdictReason reason = VerdictReason::no_measurement;
  std::string detail;                         // a sentence for a person
  std::optional<double> ratio;                // current / baseline, of geometric means
  std::optional<Interval> ratio_95;           // Welch's interval; needs two runs a side
  std::optional<double> p;                    // of the permutation test, where it could decide
  std::optional<double> detectable_fraction;  // the effect that this sample would have found with power 0.8
  std::size_t current_runs = 0;
  std::size_t baseline_runs = 0;
};

Decision decide(const Sample& current, const Sample& baseline, const DecisionRule& rule);

// Against a number without spread, such as a published one: the exact sign-flip test of the log ratios.
Decision decide_against_constant(const Sample& current, double baseline, const DecisionRule& rule);

// The smallest p that samples of these sizes can reach.
double smallest_p(std::size_t current_runs, std::size_t baseline_runs);
double smallest_p_against_constant(std::size_t runs);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::Verdict> {
  using V = perfbench::harness::Verdict;
  static constexpr std::array kNames{std::pair{V::regressed, "REGRESSED"}, std::pair{V::improved, "IMPROVED"},
                                     std::pair{V::same, "SAME"}, std::pair{V::inconclusive, "INCONCLUSIVE"},
                                     std::pair{V::not_comparable, "NOT_COMPARABLE"}};
};
template <>
struct perfbench::spec::EnumNames<perfbench::harness::VerdictReason> {
  using R = perfbench::harness::VerdictReason;
  static constexpr std::array kNames{
      std::pair{R::significant, "significant"},
      std::pair{R::equivalent, "equivalent"},
      std::pair{R::too_few_runs, "too_few_runs"},
      std::pair{R::not_significant, "not_significant"},
      std::pair{R::machine_speed_changed, "machine_speed_changed"},
      std::pair{R::all_noisy, "all_noisy"},
      std::pair{R::no_measurement, "no_measurement"},
      std::pair{R::other_work, "other_work"},
      std::pair{R::other_machine, "other_machine"},
      std::pair{R::no_baseline, "no_baseline"},
      std::pair{R::same_runs, "same_runs"},
  };
};
