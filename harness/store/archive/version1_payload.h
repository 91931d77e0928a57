// The contents of a file in format version 1: a database of the perfbench that wrote it. It is read like any database,
// and gives the same records as an export of it would today.
#pragma once

#include <filesystem>
#include <string>

#include "harness/store/archive/record_line.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Passes on the records of the unpacked database `payload` of the export `file`. `ours` says which tables exist,
// because those of a hostile file could be endless views. Throws InputError for a database that is damaged, comes from
// a newer perfbench, or has rows that cannot be read.
void read_version1(const std::filesystem::path& payload, const std::string& file, const Connection& ours,
                   const LineSink& sink);

}  // namespace perfbench::harness
