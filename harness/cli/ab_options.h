// What the commands that compare two sides in pairs share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/ab/cell_verdict.h"
#include "harness/cli/execution_options.h"
#include "harness/cli/matrix_options.h"

namespace perfbench::harness {

struct AbOptions {
  MatrixOptions matrix;
  std::set<std::string> cells = {};  // labels, empty: all of the matrix
  std::filesystem::path db = "perf.db";
  std::filesystem::path runs = {};  // empty: beside the database
  ExecutionOptions execution = {};
  std::size_t pairs = 16;
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

  // Throws InputError.
  AbRule rule() const;
};

// All but the matrix and --db. `group` is their heading in the help.
void add_ab_options(CLI::App& command, AbOptions& options, const std::string& group);

}  // namespace perfbench::harness
