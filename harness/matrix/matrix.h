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

// The repository of a training program.
struct ProgramRepository {
  std::string path;                                  // for {repo}; absolute
  std::vector<std::vector<std::string>> build = {};  // commands that make a fresh tree of a commit ready to run
};

struct Cell {
  std::string matrix;                                     // name of the matrix
  std::vector<std::pair<std::string, std::string>> axes;  // in the matrix's order, values as written
  std::string label;                                      // "model=llama-tiny fsdp=2"
  std::size_t combination = 0;  // index over the whole matrix, independent of --only and --set
  spec::RunSpec run;
  std::string program_repo;  // for a program: the folder for {repo}; not part of the run
  std::string run_id;        // SHA-256 of the canonical JSON of `run`, 64 hex digits
  // Neither the matrix nor the command line says whether bf16 weights are cast or kept: the plan decides, by memory
  // (harness/plan/kept_weights.h).
  bool bf16_weights_open = false;
  std::int64_t repeats = 1;
  std::optional<std::string> excluded;    // the reason that the matrix gives: recorded, not executed
  std::optional<std::string> infeasible;  // why this combination contradicts itself: recorded, not executed
};

// Returns "(defaults)" for the cell of a matrix without axes, whose label is empty.
inline std::string shown_label(const std::string& label) {
  return label.empty() ? "(defaults)" : label;
}

// Expands a matrix file into its cells. docs/matrix.md describes the format.
class ModelCatalog;
class YamlDocument;

// For combinations that turn out to be the same run.
enum class EqualRuns { merge, keep };

// The options of the command line that change a matrix, each "key=value".
struct Overrides {
  std::vector<std::string>
      only;  // "fsdp=1,2" keeps the cells with one of these values; globs are allowed; all conditions must be met
  std::vector<std::string> set;  // "steps=3": applied last, to every cell
  EqualRuns equal_runs = EqualRuns::merge;
};

struct Expansion {
  std::string name;
  std::string description;
  std::optional<ProgramRepository> program_repo;  // if the matrix runs a program and names its repository
  std::vector<Cell> cells;                        // in the matrix's order, including excluded and infeasible cells
  std::vector<std::string> notices;               // facts for the user, such as cells that turned out to be equal
};

// The first cell that runs a training program; nullptr in a matrix of perfbench-engine. A cell that contradicts itself
// has no program, whatever the others have.
const Cell* program_cell(const std::vector<Cell>& cells);

// Throws InputError, with file:line:column or the words of the command line, for anything that is not valid.
Expansion expand(const YamlDocument& matrix, const ModelCatalog& catalog, const Overrides& overrides);

// The name of the matrix in its file. Throws InputError with all mistakes of the file, as expand() does.
std::string name_of(const YamlDocument& matrix);

}  // namespace perfbench::harness
