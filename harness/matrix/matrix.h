// A matrix file to its cells. The grammar is described in matrices/README.md.
#pragma once

#include <string>
#include <vector>

#include "harness/matrix/cell.h"

namespace perfbench::harness {

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
