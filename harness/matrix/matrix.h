// One combination of a matrix, resolved to a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/spec/run_spec.h"

namespace perfbench::harness {

struct Cell {
  std::string matrix;                                     // name of the matrix
  std::vector<std::pair<std::string, std::string>> axes;  // in the matrix's order, values as written
  std::string label;                                      // "model=llama-tiny fsdp=2"
  std::size_t combination = 0;  // counted over all of the matrix: the same whatever --only and --set say
  spec::RunSpec run;
  std::string program_repo;  // for a program: the folder for {repo}; not part of the run
  std::string run_id;        // SHA-256 of the canonical JSON of `run`, 64 hex digits
  // Neither the matrix nor the command line says whether bf16 weights are cast or kept: the plan decides, by memory
  // (harness/plan/kept_weights.h).
  bool bf16_weights_open = false;
  std::int64_t repeats = 1;
  std::optional<std::string> excluded;    // reason given by the matrix: recorded, not executed
  std::optional<std::string> infeasible;  // why this combination contradicts itself: recorded, not executed
};

// "(defaults)" for the cell of a matrix without axes, whose label is empty.
inline std::string shown_label(const std::string& label) {
  return label.empty() ? "(defaults)" : label;
}

// A matrix file to its cells. The grammar is described in docs/matrix.md.
class ModelCatalog;
class YamlDocument;

// Combinations that turn out to be the same run.
enum class EqualRuns { merge, keep };

// What the command line adds to a matrix, each "key=value".
struct Overrides {
  std::vector<std::string> only;  // "fsdp=1,2" keeps the cells with one of these values; globs; all must hold
  std::vector<std::string> set;   // "steps=3": applied last, to every cell
  EqualRuns equal_runs = EqualRuns::merge;
};

struct Expansion {
  std::string name;
  std::string description;
  std::vector<Cell> cells;           // in the matrix's order; excluded and infeasible ones included
  std::vector<std::string> notices;  // what a person should know, such as cells that turned out equal
};

// Throws InputError with file:line:column (or the command line's words) for anything that cannot be meant.
Expansion expand(const YamlDocument& matrix, const ModelCatalog& catalog, const Overrides& overrides);

// What the file calls itself. Throws InputError, as expand() does, with all mistakes of the file.
std::string name_of(const YamlDocument& matrix);

}  // namespace perfbench::harness
