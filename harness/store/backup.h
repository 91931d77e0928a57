// Copies of a whole database.
#pragma once

#include <cstdint>
#include <filesystem>

namespace perfbench::harness {

struct BackupReport {
  std::uintmax_t file_bytes = 0;
  std::int64_t attempts = 0;
};

// Writes a copy of `db` to `file`, which is replaced only if it is a database of perfbench. Other processes may read
// and write `db` meanwhile; the copy has the state of one moment. It is checked (PRAGMA quick_check) before it gets its
// name. Throws InputError and StoreError; then `file` is as it was.
BackupReport back_up(const std::filesystem::path& db, const std::filesystem::path& file);

// Makes the database `db` from a copy. Throws InputError if `db` exists, and if `file` is not a sound database of
// perfbench.
BackupReport restore(const std::filesystem::path& file, const std::filesystem::path& db);

}  // namespace perfbench::harness
