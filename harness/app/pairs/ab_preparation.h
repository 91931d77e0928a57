// What comes before two sides are compared: all that was named is looked at, and then engines are built.
#pragma once

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

// The repository of --repo, or the one this perfbench was built from. Throws InputError.
GitHistory history_of(const AbOptions& options, const Installation& installation);

// What the text names (sides.h). A revision has its commit, and no engine yet. Throws InputError.
AbSide named_side(const std::string& text, const AbOptions& options, const Installation& installation);
AbSide named_revision(const std::string& commit);

// The cells of the matrix under the settings of both sides.
struct PairedMatrix {
  std::string name;
  std::vector<AbCell> cells;
  std::set<std::string> notices;
};
// Throws InputError where no cell is left.
PairedMatrix pair_matrix(const AbSide& a, const AbSide& b, const AbOptions& options, const ModelCatalog& catalog,
                         const Installation& installation);

// Looks at the matrix, the programs, the folders and the database, so that nothing is built or run in vain. Creates a
// database that does not exist. Throws InputError.
void check_before_building(const AbSide& a, const AbSide& b, const AbOptions& options,
                           const Installation& installation);

// Builds the engine of a revision. Other sides are ready as they are. Throws BuildError, Cancelled.
AbSide ready_side(AbSide side, const AbOptions& options, const Installation& installation,
                  const Interruption& interruption);

}  // namespace perfbench::harness
