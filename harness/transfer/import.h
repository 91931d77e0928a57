// A file of `perfbench export` into a database. The same file can be taken in at any time, and two databases that take
// in each other's files end up with the same contents.
#pragma once

#include <cstdint>
#include <filesystem>

#include "harness/transfer/record_import.h"

namespace perfbench::harness {

// One transaction; `db` is made if it does not exist. Throws InputError, with nothing taken in, for a file that is
// damaged or cut off or unpacks to more than it may (archive.h), of a newer perfbench, with records that no perfbench
// writes, or at odds with the database (record_import.h).
ImportCounts import_runs(const std::filesystem::path& db, const std::filesystem::path& file,
                         std::uint64_t most_unpacked_bytes = 0);

}  // namespace perfbench::harness
