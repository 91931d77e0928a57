#pragma once

#include <string>

namespace perfbench::harness {

// The author of a new ledger entry: the named person, or else git's user.name in the working folder, or else USER of
// the environment. Throws InputError if none is known.
std::string author_or_current(const std::string& named);

}  // namespace perfbench::harness
