#include "harness/transfer/import.h"

#include "harness/input_error.h"
#include "harness/store/database.h"
#include "harness/transfer/archive.h"
#include "harness/transfer/temporary_file.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// An export of an older perfbench is brought to today's schema before it is read.
Connection open_unpacked(const fs::path& payload, const fs::path& file) {
  try {
    { open_database(payload); }
    return open_database(payload, {.mode = OpenMode::read_only});
  } catch (const InputError& e) {
    throw InputError("[import] " + file.string() + ": " + e.what());
  }
}

}  // namespace

std::map<std::string, MergeCount> import_runs(const fs::path& path, const fs::path& file) {
  const TemporaryFile payload(path, "import");
  read_archive(file, payload.path());
  const auto unpacked = open_unpacked(payload.path(), file);
  auto db = open_database(path);
  db.attach(unpacked, "source");
  Transaction transaction(db);
  auto counts = merge_source(db, {}, file.string());
  transaction.commit();
  return counts;
}

}  // namespace perfbench::harness
