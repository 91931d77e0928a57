// Whether side B differs from side A, from pairs of process runs in randomised order: a pure function of numbers.
//
// A difference is REGRESSED or IMPROVED where the t test of paired_difference() (log_difference.h) finds it at the
// level of the look. Where pairs prove to have something in common, so that the test has only their differences, the
// exact sign-flip test must agree at `alpha`: it needs no more than that the noise of A and B of a pair could have been
// exchanged; what being second costs cancels in the balanced order (pairs.h), which leaves the test on the safe
// side. With fewer than 8 pairs that test cannot reach 0.01 (2 / 2^8 = 0.0078), so no earlier look can name a
// difference, by either: four pairs know too little of their noise. SAME is an equivalence test (two one-sided t tests
// at 0.05 over all looks), possible at every look, and comes before a significant difference: one inside the margin
// does not matter.
//
// Levels over looks are spent by Lan and DeMets' Pocock-type function, level * ln(1 + (e - 1) t), t = pairs of the look
// / pairs of the last look (Biometrika 70, 1983, p. 659): even enough to stop early. A look's level is what it adds, so
// that the levels sum to the total and hold together by the union bound, whatever the correlation of the looks. What
// looks that cannot name a difference would have spent goes to the first that can: looks 4, 8, 16 at 0.01 test at 0,
// 0.0062 and 0.0038; looks 4, 8 at 0 and 0.01; and SAME by intervals of 96.4, 97.4 and 96.2 %. A single look gives the
// 90 % interval.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/stats/verdict.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

// One metric of one process run a side, both > 0.
struct Pair {
  double a = 0;
  double b = 0;
};

struct PairedRule {
  spec::Direction direction = spec::Direction::lower_is_better;  // not neutral
  double margin_fraction = 0.02;
  double alpha = 0.01;                          // two-sided, over all looks
  std::vector<std::size_t> looks = {4, 8, 16};  // pairs, rising, from 2 to 64
  // A look whose pairs leave a verdict at the last look less probable than this stops for that (futile); 0: none does.
  // By the predictive distribution of the last look's mean, with the noise as it is seen: no look becomes wrong by it.
  double futile_below = 0;
};

struct PairedDecision {
  Decision decision;          // ratio is B / A; p is of the t test, times alpha / the look's level: to be held to alpha
  bool final = false;         // no further look would be asked for: enough is known, or the looks are used up
  std::size_t next_look = 0;  // pairs to have before the next decision; 0 when final
  std::size_t later_look = 0;               // the next planned look, asked for or not; 0 at the last
  std::optional<std::size_t> pairs_needed;  // to find the margin with power 0.8, when this many do not
};

// Pairs without which no difference of a metric with noise can be named at `alpha`: 8 at 0.01.
std::size_t fewest_pairs(double alpha);

// Pairs in the order executed. Called at each look with all pairs so far; pairs beyond a look are left for the next one
// (beyond the last, they are used). Throws std::invalid_argument for a rule or a pair that is none.
PairedDecision decide_pairs(const std::vector<Pair>& pairs, const PairedRule& rule);

// What a look may spend. `difference` is 0 where the sign-flip test cannot name one.
struct LookLevel {
  std::size_t pairs = 0;
  double difference = 0;   // two-sided
  double equivalence = 0;  // of each one-sided test
};
std::vector<LookLevel> look_levels(const PairedRule& rule);

// Of one that did not survive among all that were compared (control_false_discoveries, which may be asked at every
// look: p is valid whichever look it comes from): the next planned look is asked for, if there is one.
void ask_for_later_look(PairedDecision& decision);

// Why a gate must not be passed on this decision: it is INCONCLUSIVE, and a difference as large as the margin could
// have been missed. Says how many pairs it would take. Nothing where the decision may be relied on.
std::optional<std::string> gate_refusal(const PairedDecision& decision, const PairedRule& rule);

}  // namespace perfbench::harness
