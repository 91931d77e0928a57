// The perfbench database: a connection whose schema is known to be the current one.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "harness/sqlite/sqlite.h"
#include "harness/store/journal.h"
#include "harness/store/schema.h"

namespace perfbench::harness {

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
  // A sentence about a database that cannot have a write-ahead log (journal.h); on standard error unless given.
  std::function<void(const std::string&)> warn = say_on_standard_error;
};

// read_write creates (AbsentFile) and migrates as needed; read_only needs an existing database of the current version.
// Throws InputError for a file that is not a perfbench database or is newer than this perfbench, StoreError for the
// rest.
Connection open_database(const std::filesystem::path& path, const OpenOptions& options = {});

}  // namespace perfbench::harness
