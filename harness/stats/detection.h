// How many pairs in turns find a difference that people care about, and of how many turns each: a pure function of what
// two pilot pairs of each cell told.
//
// The log ratio of a pair of T turns is the median of their log ratios. It deviates by
//   sqrt(s_b^2 + pi/2 s_w^2 / T),
// s_w of a turn, as the pilot pairs show it (the larger of what single turns and what medians of five say), and s_b of
// the two process runs, which two pairs cannot show and which is taken to be kPairDeviation. n pairs find the
// difference d with power 0.8 where
//   that / sqrt(n) <= log(1 + d) / (t(1 - alpha / 2) + t(0.8)),  of n - 1 degrees of freedom.
// The plan asks for three quarters of that standard error: looks spend a part of the level, SAME may be said first of a
// difference as large as the margin, and two pilot pairs may show less noise than there is.
//
// Pairs and turns are fixed before the first tested pair, and the pilot pairs are no part of the test, so that what the
// plan takes from them cannot bend a verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace perfbench::harness {

// One pilot pair: the times of the steps of either side, in turns, and how long the pair took.
struct PilotPair {
  std::vector<double> a_step_s;
  std::vector<double> b_step_s;
  double wall_s = 0;
};

// What the pilot pairs of a cell told.
struct Pilot {
  double turn_deviation = 0;          // of the log ratio of a turn
  double start_s = 0;                 // of a pair, beside its steps
  double turn_s = 0;                  // a step of A and a step of B
  std::size_t warmup_steps = 1;       // of a run
  std::size_t most_turns = SIZE_MAX;  // of a pair: what the time limit of a run leaves
};

// Nothing where a pair has no steady turns.
std::optional<Pilot> read_pilot(const std::vector<PilotPair>& pairs);

inline constexpr std::size_t kMostDetectionPairs = 24;  // of each cell
inline constexpr std::size_t kPilotPairs = 2;           // of each cell
inline constexpr std::size_t kPilotSteps = 22;          // of each of their runs

// The deviation of the log ratio of a pair of any length: 0.33 % a process run, from layout and start-up.
inline constexpr double kPairDeviation = 0.0047;

struct DetectionPlan {
  std::size_t pairs = 0;           // of each cell, at most; the last look
  std::vector<std::size_t> turns;  // of a pair of each cell; 0 where no number of turns is enough
  std::vector<double> cost_s;      // of each cell, should no look stop it; 0 without turns
};

// Of the numbers of pairs 12, 16, 20 and 24 the one that makes the sum of all cells' costs least.
DetectionPlan plan_detection(const std::vector<Pilot>& cells, double fraction, double alpha = 0.01);

// PairedRule::futile_below of such a comparison.
inline constexpr double kFutileBelow = 0.10;

// 8, 12, ... `pairs`.
std::vector<std::size_t> detection_looks(std::size_t pairs);

}  // namespace perfbench::harness
