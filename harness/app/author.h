#pragma once

#include <string>

namespace perfbench::harness {

// Who adds an entry to the ledger: the git user.name of the working folder, else USER of the environment. Throws
// InputError when neither is known.
std::string current_author();

}  // namespace perfbench::harness
