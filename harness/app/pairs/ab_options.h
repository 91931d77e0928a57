// The user's request for a comparison of two sides in pairs, shared by the use cases that make one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/app/execution.h"
#include "harness/app/sweep/planned_sweep.h"
#include "harness/app/sweep/program_matrix.h"
#include "harness/judge/cell_verdict.h"

namespace perfbench::harness {

// How the two runs of a pair share the machine.
enum class Pairing {
  automatic,  // in turns if both sides can
  turns,      // in turns, or not at all
  apart,      // one after the other
};

// The metrics that a comparison with a detection judges by default.
enum class DetectionJudges {
  median_step,  // and metrics that need no test, because each further metric with noise would cost power
  everything,   // the default metrics of other comparisons
};

constexpr std::size_t kMostPairs = 64;  // of a cell

// A difference that the comparison should find with power 0.8, and the time limit.
struct Detection {
  double fraction = 0;  // of the median step
  std::optional<double> within_s = {};
};

struct AbOptions {
  MatrixOptions matrix;
  ProgramWords program = {};         // for sides cmd:COMMAND: how to read their logs
  std::set<std::string> cells = {};  // labels; empty: the whole matrix
  std::filesystem::path db = "perf.db";
  std::filesystem::path runs = {};  // empty: beside the database
  ExecutionOptions execution = {};
  std::size_t pairs = 16;
  // If positive, a comparison whose pairs are so short that more of them fit into this time executes more than `pairs`.
  // Runs of a few tenths of a second have much noise, and more of them cost little.
  double more_pairs_within_s = 0;
  std::optional<Detection> detection = {};  // if set, pairs and turns are planned for it, and `pairs` is ignored
  DetectionJudges detection_judges = DetectionJudges::median_step;
  Pairing pairing = Pairing::automatic;
  std::vector<std::string> metrics = {};  // empty: the default metrics
  std::vector<std::string> margins = {};
  std::optional<std::uint64_t> seed = {};
  std::optional<std::size_t> most_discarded = {};  // default: discards_per_pair for each of `pairs`
  std::size_t discards_per_pair = 1;
  SpoilRule spoil = {};
  bool resume = false;
  std::filesystem::path repository = {};   // empty: the repository from which this perfbench was built
  std::filesystem::path build_cache = {};  // empty: default_build_cache()
  std::vector<std::string> build_options = {};

  // With a detection, until there is a plan, the looks are those of the largest number of pairs. Throws InputError.
  AbRule rule() const;
  // The number of pairs of each cell, if one pair of every cell takes `round_s`: `pairs`, or up to kMostPairs.
  std::size_t pairs_for(double round_s) const;
};

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::Pairing> {
  using P = perfbench::harness::Pairing;
  static constexpr std::array kNames{std::pair{P::automatic, "auto"}, std::pair{P::turns, "turns"},
                                     std::pair{P::apart, "apart"}};
};
