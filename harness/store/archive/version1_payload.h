// What a file of format version 1 holds: a database of the perfbench that wrote it. It is read as any database is, and
// comes to the same records as an export of it would today.
#pragma once

#include <filesystem>
#include <string>

#include "harness/store/archive/record_line.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Hands on the records of the unpacked database `payload` of the export `file`. `ours` says what tables there are:
// those of a hostile file could be views without an end. Throws InputError for a database that is damaged, of a newer
// perfbench, or has rows that cannot be read.
void read_version1(const std::filesystem::path& payload, const std::string& file, const Connection& ours,
                   const LineSink& sink);

}  // namespace perfbench::harness
