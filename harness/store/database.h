// How the processes that use one database are coordinated.
//
// With a write-ahead log (WAL), readers and one writer do not block each other. It needs shared memory, which the
// processes of one machine have on its local disks. Where WAL cannot work the database uses a rollback journal: it is
// slower, and a reader waits for a writer, but file locks alone keep the database intact.
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

// "NFS", from the numbers of statfs(2); nullopt for a local file system.
std::optional<std::string> network_file_system_of_type(long type);
std::optional<std::string> network_file_system(const std::filesystem::path& folder);

// Why it failed, "SQLite finds no shared memory there"; empty: the database is in WAL mode. Throws StoreError for
// everything else.
std::string use_write_ahead_log(Connection& db, std::chrono::milliseconds patience);

// Call it before the first access to a database: an existing log is applied without shared memory, for which this
// connection must be the only one.
void hold_alone(Connection& db);
// Call it after hold_alone. Throws StoreError.
void use_rollback_journal(Connection& db);

// The perfbench database: a connection whose schema is current.
void say_on_standard_error(const std::string& line);

// The behaviour if a database that is to be written does not exist. Commands that only change existing data use
// is_an_error.
enum class AbsentFile { is_made, is_an_error };

struct OpenOptions {
  OpenMode mode = OpenMode::read_write;
  AbsentFile absent = AbsentFile::is_made;
  int busy_ms =
      30'000;  // how long a writer waits for another one; the transaction of an attempt takes well under a second
  Schema schema = current_schema();
  std::function<std::optional<std::string>(const std::filesystem::path& folder)> network_file_system =
      harness::network_file_system;
  // Receives a sentence about a database that cannot have a write-ahead log (database.h); by default prints it to
  // standard error.
  std::function<void(const std::string&)> warn = say_on_standard_error;
};

// read_write creates (AbsentFile) and migrates as needed; read_only needs an existing database of the current version.
// Throws InputError for a file that is not a perfbench database, was written before version 0.1.0 or by a newer
// perfbench; StoreError for the rest.
Connection open_database(const std::filesystem::path& path, const OpenOptions& options = {});

// Changes whenever another connection has written (PRAGMA data_version).
std::int64_t data_version(const Connection& db);

}  // namespace perfbench::harness
