// Plans how many pairs in turns find a difference that people care about, and how many turns each pair has. A pure
// function of the results of two pilot pairs of each cell.
//
// The log ratio of a pair of T turns is the median of the log ratios of its turns. It deviates by
//     sqrt(s_b^2 + pi/2 s_w^2 / T),
// where s_w is the deviation of a turn, as the pilot pairs show it (the larger of two estimates, from single turns and
// from medians of five), and s_b that of the two process runs. Two pairs cannot show s_b: it is taken to be
// kPairDeviation. n pairs find the difference d with power 0.8 where
//     that / sqrt(n) <= log(1 + d) / (t(1 - alpha / 2) + t(0.8)),  with n - 1 degrees of freedom.
// The plan asks for three quarters of that standard error, for three reasons: looks spend a part of the level, a
// difference as large as the margin may first be called SAME, and two pilot pairs may show less noise than there is.
//
// Pairs and turns are fixed before the first tested pair, and the pilot pairs are not part of the test. So the plan
// cannot bias a verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace perfbench::harness {

// One pilot pair: the step times of each side, which took turns, and the duration of the pair.
struct PilotPair {
  std::vector<double> a_step_s;
  std::vector<double> b_step_s;
  double wall_s = 0;
};

// The results of the pilot pairs of a cell.
struct Pilot {
  double turn_deviation = 0;          // deviation of the log ratio of a turn
  double start_s = 0;                 // duration of a pair without its steps
  double turn_s = 0;                  // duration of a step of A and a step of B
  std::size_t warmup_steps = 1;       // warm-up steps of a run
  std::size_t most_turns = SIZE_MAX;  // most turns of a pair: the time limit of a run sets it
};

// nullopt where a pair has no steady turns.
std::optional<Pilot> read_pilot(const std::vector<PilotPair>& pairs);

inline constexpr std::size_t kMostDetectionPairs = 24;  // most pairs of a cell
inline constexpr std::size_t kPilotPairs = 2;           // pilot pairs of a cell
inline constexpr std::size_t kPilotSteps = 22;          // steps of each run of a pilot pair

// The deviation of the log ratio of a pair of any length: 0.33 % for each process run, from layout and start-up.
inline constexpr double kPairDeviation = 0.0047;

struct DetectionPlan {
  std::size_t pairs = 0;           // of each cell, at most: the pairs of the last look
  std::vector<std::size_t> turns;  // of a pair, by cell; 0 where no number of turns is enough
  std::vector<double> cost_s;      // by cell, if no look stops it; 0 for a cell without turns
};

// Chooses among 12, 16, 20 and 24 pairs the number with the smallest total cost of all cells.
DetectionPlan plan_detection(const std::vector<Pilot>& cells, double fraction, double alpha = 0.01);

// PairedRule::futile_below of a comparison that was planned so.
inline constexpr double kFutileBelow = 0.10;

// The looks at 8, 12, ... `pairs` pairs.
std::vector<std::size_t> detection_looks(std::size_t pairs);

}  // namespace perfbench::harness
