#include "harness/store/database.h"

#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "harness/system/input_error.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

// f_type of file systems that several machines mount: linux/magic.h, and the headers of each project. FUSE is not
// included, because containers keep local disks on it.
constexpr std::array<std::pair<std::uint32_t, const char*>, 12> kNetworkFileSystems{{
    {0x00006969U, "NFS"},
    {0x0000517BU, "SMB"},
    {0xFF534D42U, "CIFS"},
    {0xFE534D42U, "SMB2"},
    {0x0BD00BD0U, "Lustre"},
    {0x47504653U, "GPFS"},
    {0x19830326U, "BeeGFS"},
    {0x00C36400U, "Ceph"},
    {0xAAD7AAEAU, "PanFS"},
    {0x5346414FU, "AFS"},
    {0x01161970U, "GFS2"},
    {0x7461636FU, "OCFS2"},
}};

// The mode after the pragma, which returns it.
std::string journal_mode(Connection& db, const std::string& wanted) {
  Statement statement(db, "PRAGMA journal_mode = " + wanted);
  return statement.step() ? statement.text(0) : "";
}

}  // namespace

std::optional<std::string> network_file_system_of_type(long type) {
  for (const auto& [number, name] : kNetworkFileSystems) {
    if (static_cast<std::uint32_t>(type) == number) return name;
  }
  return std::nullopt;
}

std::optional<std::string> network_file_system(const std::filesystem::path& folder) {
  struct statfs found {};
  if (statfs(folder.c_str(), &found) != 0) return std::nullopt;
  return network_file_system_of_type(static_cast<long>(found.f_type));
}

// The mode stays with the file. Changing it is the only operation for which SQLite does not wait by itself while
// another process makes the same change.
std::string use_write_ahead_log(Connection& db, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    try {
      const auto mode = journal_mode(db, "WAL");
      return mode == "wal" ? "" : "SQLite stays in the journal mode '" + mode + "' there";
    } catch (const StoreError& e) {
      if (e.fault() != StoreFault::busy || std::chrono::steady_clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void hold_alone(Connection& db) {
  db.execute("PRAGMA locking_mode = EXCLUSIVE");
}

void use_rollback_journal(Connection& db) {
  const auto mode = journal_mode(db, "DELETE");
  if (mode != "delete") {
    throw StoreError(StoreFault::other, "[store] " + db.path().string() + ": stays in the journal mode '" + mode +
                                            "' on a file system where that is not safe; copy it to a local disk");
  }
  db.execute("PRAGMA locking_mode = NORMAL");
  db.execute("SELECT 1 FROM sqlite_master LIMIT 1");  // the next read releases the lock
}

namespace fs = std::filesystem;
namespace {

// PRAGMA application_id marks the file as ours.
constexpr std::int64_t kApplicationId = 0x70626462;       // "pbdb"
constexpr std::int64_t kBeforeFirstRelease = 0x70626368;  // "pbch": versions that were never released, 1 to 24

std::int64_t pragma(const Connection& db, const std::string& name) {
  Statement statement(db, "PRAGMA " + name);
  return statement.step() ? statement.integer(0) : 0;
}

bool is_empty(const Connection& db) {
  Statement statement(db, "SELECT 1 FROM sqlite_master LIMIT 1");
  return !statement.step();
}

[[noreturn]] void reject(const Connection& db, const std::string& message) {
  throw InputError("[store] " + db.path().string() + ": " + message);
}

// The version of our database; 0 for an empty file.
int version_of(const Connection& db) {
  if (is_empty(db)) return 0;
  const auto application = pragma(db, "application_id");
  const auto version = pragma(db, "user_version");
  if (application == kBeforeFirstRelease) {
    reject(db, "was written before perfbench 0.1.0 (layout " + std::to_string(version) +
                   "), and this version cannot read it. Build a new database from the run directories with `perfbench "
                   "ingest DIR --db NEW`");
  }
  if (application != kApplicationId) {
    reject(db, "is an SQLite database, but not of perfbench; name another file with --db");
  }
  if (version < 1) {
    reject(db, "has schema version " + std::to_string(version) +
                   ", which no version of perfbench writes. Restore the file, or build a new database from the run "
                   "directories with `perfbench ingest DIR --db NEW`");
  }
  return static_cast<int>(version);
}

void migrate(Connection& db, const Schema& schema) {
  Transaction transaction(db);
  const int found = version_of(db);  // read again under the lock, because another process may have been faster
  if (found == 0) {
    db.execute(std::string(schema.sql));
    db.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  }
  for (const auto& migration : schema.migrations) {
    if (found > 0 && migration.to_version > found) db.execute(std::string(migration.sql));
  }
  db.execute("PRAGMA user_version = " + std::to_string(schema.version()));
  transaction.commit();
}

void check_version(const Connection& db, const Schema& schema, OpenMode mode) {
  const int found = version_of(db);
  if (found > schema.version()) {
    reject(db, "has schema version " + std::to_string(found) + ", but this perfbench knows versions up to " +
                   std::to_string(schema.version()) + "; use a newer perfbench");
  }
  if (mode != OpenMode::read_write && found < schema.version()) {
    reject(db, found == 0 ? std::string("is empty; fill it with `perfbench sweep` or `perfbench ingest`")
                          : "has the older schema version " + std::to_string(found) +
                                "; any command that writes to it, such as `perfbench ingest`, updates it");
  }
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// SQLite reports a missing permission only at the first write, in words that do not name the folder of the write-ahead
// log.
void check_writable(const fs::path& path) {
  const auto folder = folder_of(path);
  if (!fs::is_directory(folder)) {
    throw InputError("[store] " + path.string() + ": the folder " + folder.string() + " does not exist");
  }
  if (fs::exists(path) && ::access(path.c_str(), W_OK) != 0) {
    throw StoreError(
        StoreFault::read_only,
        "[store] " + path.string() + ": the file is read-only; make it writable, or name another one with --db");
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw StoreError(StoreFault::read_only, "[store] " + path.string() + ": the folder " + folder.string() +
                                                " is read-only, and SQLite keeps its log beside the database; make it "
                                                "writable, or name another one with --db");
  }
}

// SQLite would only report "disk I/O error" for these.
void check_path(const fs::path& path) {
  if (const auto problem = path_problem(path, PathIs::database)) {
    throw InputError("[store] '" + path.string() + "': " + *problem + "; name another one with --db");
  }
}

Connection connect(const fs::path& path, const OpenOptions& options) {
  check_path(path);
  const bool needs_file = options.mode != OpenMode::read_write || options.absent == AbsentFile::is_an_error;
  if (needs_file && !fs::exists(path)) {
    throw InputError("[store] " + path.string() + " does not exist; name the database of a sweep with --db");
  }
  if (options.mode == OpenMode::read_write) check_writable(path);
  auto mode = options.mode;
  // A reader of a WAL database keeps shared memory beside it. If it may not, and no writer's log waits to be read, the
  // file is practically immutable.
  if (mode == OpenMode::read_only && ::access(folder_of(path).c_str(), W_OK) != 0 &&
      !fs::exists(path.string() + "-wal")) {
    mode = OpenMode::immutable;
  }
  return {path, mode, options.busy_ms};
}

std::string why_no_write_ahead_log(const Connection& db, const OpenOptions& options) {
  if (const auto network = options.network_file_system(folder_of(db.path()))) {
    return "it is on " + *network + ", where machines do not share memory";
  }
  return db.has_shared_memory() ? "" : "its file system has no shared memory";
}

// For writing: WAL if that is safe, otherwise a rollback journal.
void choose_journal(Connection& db, const OpenOptions& options) {
  auto obstacle = why_no_write_ahead_log(db, options);
  if (obstacle.empty()) {
    try {
      check_version(db, options.schema, options.mode);
      obstacle = use_write_ahead_log(db, std::chrono::milliseconds(options.busy_ms));
      version_of(db);  // the first read applies the log
    } catch (const StoreError& e) {
      if (e.fault() != StoreFault::no_shared_memory) throw;
      obstacle = "its file system offers no shared memory that works";
      db = connect(fs::path(db.path()), options);  // the other process has read, and keeps requesting it
    }
  }
  if (obstacle.empty()) {
    // NORMAL: a killed process loses nothing; a power failure loses at most the last transactions, which ingest
    // restores.
    return db.execute("PRAGMA synchronous = NORMAL");
  }
  hold_alone(db);
  check_version(db, options.schema, options.mode);
  use_rollback_journal(db);
  options.warn("[store] " + db.path().string() + " has no write-ahead log: " + obstacle +
               "; with a rollback journal readers and writers wait for each other. Keep a database on a local disk "
               "while measuring, and merge it afterwards (perfbench export, perfbench import)");
}

}  // namespace

void say_on_standard_error(const std::string& line) {
  reports::print(stderr, "{}\n", line);
}

Connection open_database(const fs::path& path, const OpenOptions& options) {
  Connection db = connect(path, options);
  try {
    if (options.mode == OpenMode::read_write) {
      choose_journal(db, options);
      if (version_of(db) < options.schema.version()) migrate(db, options.schema);
    } else {
      check_version(db, options.schema, options.mode);
    }
    db.execute("PRAGMA foreign_keys = ON");
  } catch (const StoreError& e) {
    if (e.fault() == StoreFault::not_a_database) throw InputError(e.what());
    throw;
  }
  return db;
}

std::int64_t data_version(const Connection& db) {
  Statement version(db, "PRAGMA data_version");
  version.step();
  return version.integer(0);
}

}  // namespace perfbench::harness
