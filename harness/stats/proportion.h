// A rate seen in trials.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfbench::harness {

struct Proportion {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Wilson's score interval, two-sided. Throws std::invalid_argument without a trial.
Proportion wilson(std::uint64_t successes, std::uint64_t trials, double confidence = 0.95);

// Whether two rates differ: Fisher's exact test, two-sided, the sum of the probabilities of all tables of these margins
// that are no more likely than this one. 1 where a side has no trial. Throws std::invalid_argument for more successes
// than trials.
double fisher_exact_p(std::uint64_t a_successes, std::uint64_t a_trials, std::uint64_t b_successes,
                      std::uint64_t b_trials);

// Whether two counts of one kind differ from chance: the exact two-sided sign test. 1 where both are 0.
double sign_test_p(std::uint64_t a, std::uint64_t b);

// The rank, from 0, of the sorted value that bounds the median of `values` values from below with 97.5 %, whatever
// their distribution: a binomial quantile. The same rank from the top bounds it from above.
std::size_t median_bound(std::size_t values);

}  // namespace perfbench::harness
