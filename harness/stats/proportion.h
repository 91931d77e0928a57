// Rates observed in trials.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfbench::harness {

struct Proportion {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Wilson's two-sided score interval. Throws std::invalid_argument if there is no trial.
Proportion wilson(std::uint64_t successes, std::uint64_t trials, double confidence = 0.95);

// Tests whether two rates differ: Fisher's exact test, two-sided, the sum of the probabilities of all tables of these
// margins that are no more likely than this one. Returns 1 where a side has no trial. Throws std::invalid_argument for
// more successes than trials.
double fisher_exact_p(std::uint64_t a_successes, std::uint64_t a_trials, std::uint64_t b_successes,
                      std::uint64_t b_trials);

// Tests whether two counts of one kind differ by more than chance: the exact two-sided sign test. Returns 1 where both
// are 0.
double sign_test_p(std::uint64_t a, std::uint64_t b);

// The rank, from 0, of the sorted value that is a lower bound of the median of `values` values with 97.5 % confidence,
// whatever their distribution: a binomial quantile. The same rank from the top is the upper bound.
std::size_t median_bound(std::size_t values);

}  // namespace perfbench::harness
