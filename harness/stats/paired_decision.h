// Decides whether side B differs from side A, from pairs of process runs in randomised order. A pure function of
// numbers.
//
// A difference is REGRESSED or IMPROVED where the t test of paired_difference() (log_difference.h) finds it at the
// level of the look. Where the runs of a pair turn out to have something in common, that test uses only their
// differences. The exact sign-flip test must then agree at `alpha`: it assumes only that the noise of A and B of a pair
// could have been exchanged. The effect of being second cancels in the balanced order (pairs.h), which leaves the test
// conservative. With fewer than 8 pairs the sign-flip test cannot reach 0.01 (2 / 2^8 = 0.0078). No earlier look can
// name a difference by either test, because four pairs know too little of their noise. SAME is an equivalence test (two
// one-sided t tests at 0.05 over all looks). It is possible at every look and takes precedence over a significant
// difference, because a difference inside the margin does not matter.
//
// The levels of the looks follow Lan and DeMets' Pocock-type spending function, level * ln(1 + (e - 1) t), t = pairs of
// the look / pairs of the last look (Biometrika 70, 1983, p. 659): even enough to stop early. A look's level is its
// increment of that function. So the levels sum to the total and are valid together by the union bound, whatever the
// correlation of the looks. Looks that cannot name a difference pass their level on to the first look that can: looks
// 4, 8, 16 at 0.01 test at 0, 0.0062 and 0.0038; looks 4, 8 at 0 and 0.01. SAME uses intervals of 96.4, 97.4 and 96.2
// %; a single look uses the 90 % interval.
//
// The 95 % interval of a difference is that of the test without looks. It covers the true difference too seldom where
// the difference is near the smallest that its look can name: such a decision says "selected at a look".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/stats/verdict.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

// One metric of one process run of each side, both > 0.
struct Pair {
  double a = 0;
  double b = 0;
};

struct PairedRule {
  spec::Direction direction = spec::Direction::lower_is_better;  // not neutral
  double margin_fraction = 0.02;
  double alpha = 0.01;                          // two-sided, over all looks
  std::vector<std::size_t> looks = {4, 8, 16};  // numbers of pairs, rising, from 2 to 64
  // A look stops as futile if its pairs make a verdict at the last look less probable than this; 0 disables it. The
  // probability comes from the predictive distribution of the last look's mean, with the noise observed so far.
  // Stopping early makes no look wrong.
  double futile_below = 0;
};

struct PairedDecision {
  Decision
      decision;  // ratio is B / A; p is that of the t test times alpha / the look's level, to be compared with alpha
  bool final = false;          // no further look is needed: the result is clear, or all looks are used up
  std::size_t next_look = 0;   // pairs to have before the next decision; 0 when final
  std::size_t later_look = 0;  // the next planned look, asked for or not; 0 at the last
  std::optional<std::size_t>
      pairs_needed;       // pairs that would find the margin with power 0.8, where the planned ones do not
  bool selected = false;  // the 95 % interval of a named difference holds some that this look names by luck alone
};

// The fewest pairs that can name a difference of a metric with noise at `alpha`: 8 at 0.01.
std::size_t fewest_pairs(double alpha);

// Takes the pairs in the order in which they were executed. Called at each look with all pairs so far; pairs beyond a
// look are left for the next one, pairs beyond the last look are used. Throws std::invalid_argument for an invalid rule
// or pair.
PairedDecision decide_pairs(const std::vector<Pair>& pairs, const PairedRule& rule);

// The level that a look may spend. `difference` is 0 where the sign-flip test cannot name a difference.
struct LookLevel {
  std::size_t pairs = 0;
  double difference = 0;   // two-sided
  double equivalence = 0;  // level of each of the two one-sided tests
};
std::vector<LookLevel> look_levels(const PairedRule& rule);

// For a decision that is not significant any more among all that were compared (control_false_discoveries, which may be
// called at every look: p is valid whichever look it comes from). Asks for the next planned look, if there is one.
void ask_for_later_look(PairedDecision& decision);

// Why a gate must not pass on this decision: it is INCONCLUSIVE, and could have missed a difference as large as the
// margin. Says how many pairs would be needed. nullopt where the gate may rely on the decision.
std::optional<std::string> gate_refusal(const PairedDecision& decision, const PairedRule& rule);

}  // namespace perfbench::harness
