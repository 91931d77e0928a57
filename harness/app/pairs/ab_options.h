// Two sides in pairs as a person asks for them: what the use cases that compare them share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/app/execution.h"
#include "harness/app/sweep/planned_sweep.h"
#include "harness/judge/cell_verdict.h"

namespace perfbench::harness {

// How the two runs of a pair share the machine.
enum class Pairing {
  automatic,  // in turns where both sides can
  turns,      // in turns, or not at all
  apart,      // one after the other
};

// What a comparison with a detection judges unless it was told.
enum class DetectionJudges {
  median_step,  // and what needs no test: each further metric with noise would cost power
  everything,   // what comparisons judge otherwise
};

// A difference that is to be found with power 0.8, and the time that may be spent on it.
struct Detection {
  double fraction = 0;  // of the median step
  std::optional<double> within_s = {};
};

struct AbOptions {
  MatrixOptions matrix;
  std::set<std::string> cells = {};  // labels, empty: all of the matrix
  std::filesystem::path db = "perf.db";
  std::filesystem::path runs = {};  // empty: beside the database
  ExecutionOptions execution = {};
  std::size_t pairs = 16;
  std::optional<Detection> detection = {};  // pairs and turns are planned for it, whatever `pairs` is
  DetectionJudges detection_judges = DetectionJudges::median_step;
  Pairing pairing = Pairing::automatic;
  std::vector<std::string> metrics = {};  // empty: the default ones
  std::vector<std::string> margins = {};
  std::optional<std::uint64_t> seed = {};
  std::optional<std::size_t> most_discarded = {};  // unless given, discards_per_pair for each of `pairs`
  std::size_t discards_per_pair = 1;
  SpoilRule spoil = {};
  bool resume = false;
  std::filesystem::path repository = {};   // empty: the one this perfbench was built from
  std::filesystem::path build_cache = {};  // empty: default_build_cache()
  std::vector<std::string> build_options = {};

  // With a detection its looks are those of the most pairs that a plan may have, until there is one. Throws InputError.
  AbRule rule() const;
};

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::Pairing> {
  using P = perfbench::harness::Pairing;
  static constexpr std::array kNames{std::pair{P::automatic, "auto"}, std::pair{P::turns, "turns"},
                                     std::pair{P::apart, "apart"}};
};
