#include "harness/store/archive/version1_payload.h"

#include <vector>

#include "harness/store/archive/record_writer.h"
#include "harness/store/database.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

[[noreturn]] void reject_database(const std::string& file, const std::string& why) {
  throw InputError("[import] " + file + " does not contain a valid perfbench database: " + why +
                   "; nothing was imported, export it again");
}

// An export of an older perfbench is upgraded to today's schema before it is read.
Connection open_unpacked(const std::filesystem::path& payload, const std::string& file) {
  try {
    { open_database(payload); }
    return open_database(payload, {.mode = OpenMode::read_only});
  } catch (const InputError& e) {
    throw InputError("[import] " + file + ": " + e.what());
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
    return pages.step() && pages.text(0) == "ok";
  } catch (const StoreError&) {
    return false;
  }
}

}  // namespace

void read_version1(const std::filesystem::path& payload, const std::string& file, const Connection& ours,
                   const LineSink& sink) {
  const auto unpacked = open_unpacked(payload, file);
  try {
    if (columns_of(unpacked) != columns_of(ours)) reject_database(file, "its tables differ");
    write_records(unpacked, {.kind = SelectionKind::all, .id = {}}, sink);
  } catch (const StoreError& e) {
    if (!is_sound(unpacked)) reject_database(file, e.what());
    throw;  // an error of the target database, or its disk
  }
  if (unpacked.left_out().empty()) return;
  throw InputError("[import] " + file + ": " + *unpacked.left_out().begin() +
                   ". Nothing was imported: the file, or the database that was exported, was modified");
}

}  // namespace perfbench::harness
