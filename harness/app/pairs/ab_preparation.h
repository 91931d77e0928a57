// Prepares the comparison of two sides: checks everything that was named, and then builds engines.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/pairs/ab_options.h"
#include "harness/pairs/git_history.h"
#include "harness/pairs/sides.h"

namespace perfbench::harness {

class Interruption;
class ModelCatalog;

// The project whose commits a revision names: perfbench, or the training program that the matrix runs.
struct RevisionSource {
  GitHistory history;
  std::optional<ProgramRepository> program;  // nullopt: perfbench
};
// The repository is that of --repo; by default that of the matrix's program, or the one from which this perfbench was
// built. Throws InputError.
RevisionSource revision_source(const AbOptions& options, const Installation& installation);

// The side that the text names (sides.h). A revision has its commit, and is not built yet. Throws InputError.
AbSide named_side(const std::string& text, const AbOptions& options, const Installation& installation);
AbSide named_revision(const std::string& commit, const RevisionSource& source, const Installation& installation);

// The cells of the matrix under the settings of both sides.
struct PairedMatrix {
  std::string name;
  std::vector<AbCell> cells;
  std::set<std::string> notices;
};
// Throws InputError if no cell is left.
PairedMatrix pair_matrix(const AbSide& a, const AbSide& b, const AbOptions& options, const ModelCatalog& catalog,
                         const Installation& installation);

// Refuses what pairs in a job of a launcher cannot do: to take turns, and to run in an image. Throws InputError.
void check_pairs_elsewhere(const AbOptions& options);

// Checks the matrix, the programs, the folders and the database before anything is built or run. Creates a database
// that does not exist. Throws InputError.
void check_before_building(const AbSide& a, const AbSide& b, const AbOptions& options,
                           const Installation& installation);

// Builds the engine or the tree of a revision; other sides need no work. Throws BuildError, Cancelled.
AbSide ready_side(AbSide side, const AbOptions& options, const Interruption& interruption);

}  // namespace perfbench::harness
