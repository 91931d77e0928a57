// How the processes that use one database keep out of each other's way.
//
// With a write-ahead log (WAL) readers and one writer at a time do not block each other. It needs memory that all of
// them share, which those of one machine have on its own disks. Where it cannot work the database gets a rollback
// journal: slower, and a reader waits for a writer, but file locks alone keep it whole.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

// "NFS", by the numbers of statfs(2); nothing for a file system of this machine.
std::optional<std::string> network_file_system_of_type(long type);
std::optional<std::string> network_file_system(const std::filesystem::path& folder);

// Why not, "SQLite finds no shared memory there"; empty: the database is in WAL mode. Throws StoreError for all else.
std::string use_write_ahead_log(Connection& db, std::chrono::milliseconds patience);

// Before the first look at a database: a log that it has is read and taken in without shared memory, which needs the
// database for this connection alone.
void hold_alone(Connection& db);
// After hold_alone. Throws StoreError.
void use_rollback_journal(Connection& db);

}  // namespace perfbench::harness
