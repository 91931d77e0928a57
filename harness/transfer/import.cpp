#include "harness/transfer/import.h"

#include <string>
#include <vector>

#include "harness/input_error.h"
#include "harness/store/database.h"
#include "harness/transfer/archive.h"
#include "harness/transfer/temporary_file.h"
#include "harness/transfer/verify_rows.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void reject_database(const fs::path& file, const std::string& why) {
  throw InputError("[import] " + file.string() + " holds no sound database of a perfbench: " + why +
                   "; nothing was taken in, export it again");
}

// An export of an older perfbench is brought to today's schema before it is read.
Connection open_unpacked(const fs::path& payload, const fs::path& file) {
  try {
    { open_database(payload); }
    return open_database(payload, {.mode = OpenMode::read_only});
  } catch (const InputError& e) {
    throw InputError("[import] " + file.string() + ": " + e.what());
  } catch (const StoreError& e) {
    reject_database(file, e.what());
  }
}

std::vector<std::string> columns_of(const Connection& db) {
  Statement rows(db,
                 "SELECT t.name || ' ' || c.name FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c "
                 "WHERE t.type = 'table' ORDER BY 1");
  std::vector<std::string> out;
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

bool is_sound(const Connection& db) {
  try {
    Statement pages(db, "PRAGMA integrity_check(1)");
    if (!pages.step() || pages.text(0) != "ok") return false;
    return !Statement(db, "PRAGMA foreign_key_check").step();
  } catch (const StoreError&) {
    return false;
  }
}

// The checksum says that the file is as it was written, not that perfbench wrote it.
std::map<std::string, MergeCount> merge_unpacked(Connection& db, const Connection& unpacked, const fs::path& file) {
  try {
    if (columns_of(unpacked) != columns_of(db)) reject_database(file, "its tables are others");
    verify_rows(unpacked, db, file.string());
    db.attach(unpacked, "source");
    Transaction transaction(db);
    auto counts = merge_source(db, {}, file.string());
    transaction.commit();
    return counts;
  } catch (const StoreError& e) {
    if (e.fault() == StoreFault::constraint || !is_sound(unpacked)) reject_database(file, e.what());
    throw;  // the database that it should go into, or its disk
  }
}

}  // namespace

std::map<std::string, MergeCount> import_runs(const fs::path& path, const fs::path& file,
                                              std::uint64_t most_unpacked_bytes) {
  const TemporaryFile payload(path, "import");
  read_archive(file, payload.path(), most_unpacked_bytes);
  const auto unpacked = open_unpacked(payload.path(), file);
  auto db = open_database(path);
  return merge_unpacked(db, unpacked, file);
}

}  // namespace perfbench::harness
