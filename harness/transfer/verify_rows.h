// Whether the rows of an export are such as perfbench writes: each is read by what will read it later, and held to the
// ranges of its fields. Behind this door nobody checks again.
#pragma once

#include <string>

#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

// `unpacked` is the database of the export `file`; what its columns are to hold, the database `ours` says. Throws
// InputError that names file, table and row of the first row that is wrong, and what to do.
void verify_rows(const Connection& unpacked, const Connection& ours, const std::string& file);

}  // namespace perfbench::harness
