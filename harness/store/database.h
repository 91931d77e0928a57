// How the processes that use one database keep out of each other's way.
//
// With a write-ahead log (WAL) readers and one writer at a time do not block each other. It needs memory that all of
// them share, which those of one machine have on its own disks. Where it cannot work the database gets a rollback
// journal: slower, and a reader waits for a writer, but file locks alone keep it whole.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "harness/store/schema/schema.h"
#include "harness/store/sqlite.h"

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

// The perfbench database: a connection whose schema is known to be the current one.
void say_on_standard_error(const std::string& line);

// Of a database that is to be written: one that is not there, by a command that only changes what is.
enum class AbsentFile { is_made, is_an_error };

struct OpenOptions {
  OpenMode mode = OpenMode::read_write;
  AbsentFile absent = AbsentFile::is_made;
  int busy_ms = 30'000;  // how long a writer waits for another; one attempt's transaction takes well under a second
  Schema schema = current_schema();
  std::function<std::optional<std::string>(const std::filesystem::path& folder)> network_file_system =
      harness::network_file_system;
  // A sentence about a database that cannot have a write-ahead log (database.h); on standard error unless given.
  std::function<void(const std::string&)> warn = say_on_standard_error;
};

// read_write creates (AbsentFile) and migrates as needed; read_only needs an existing database of the current version.
// Throws InputError for a file that is not a perfbench database or is newer than this perfbench, StoreError for the
// rest.
Connection open_database(const std::filesystem::path& path, const OpenOptions& options = {});

// Changes whenever another connection has written (PRAGMA data_version).
std::int64_t data_version(const Connection& db);

}  // namespace perfbench::harness
