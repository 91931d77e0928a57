#pragma once

#include <string>

namespace perfbench::harness {

// Who adds an entry to a ledger: who was named, else the git user.name of the working folder, else USER of the
// environment. Throws InputError when none is known.
std::string author_or_current(const std::string& named);

}  // namespace perfbench::harness
