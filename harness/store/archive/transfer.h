// Runs of a database as one file with a checksum (archive.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "harness/store/archive/archive.h"
#include "harness/store/archive/record_import.h"
#include "harness/store/ledgers/push_ledger.h"
#include "harness/store/queries/query.h"

namespace perfbench::harness {

struct ExportRequest {
  std::filesystem::path db;
  Selection selection = {SelectionKind::all, {}, 0};  // all: everything that write_records() knows
  std::filesystem::path file;
  std::string perfbench_version;
  ArchivedRecords records = ArchivedRecords::all;
};

struct ExportReport {
  std::int64_t attempts = 0;
  std::int64_t step_rows = 0;
  std::uintmax_t file_bytes = 0;
  std::set<std::string> left_out = {};  // records of the selection that cannot be read
};

// Needs room beside `file` for its contents without compression, and little memory. Throws InputError for a selection
// that names nothing, and if `file` exists and is not an export.
ExportReport export_runs(const ExportRequest& request);

// Selections that together have every attempt of a database: a sweep each, and the runs outside of sweeps.
std::vector<Selection> parts_of_all(const Connection& db);

// Imports a file of `perfbench export` into a database. The same file can be imported repeatedly, and two databases
// that import each other's files end up with the same contents. Uses one transaction; `db` is created if it does not
// exist. Throws InputError, without importing anything, for a file that is damaged or cut off, that unpacks to more
// than allowed (archive.h), that comes from a newer perfbench, that contains invalid records, or that contradicts the
// database (record_import.h).
ImportCounts import_runs(const std::filesystem::path& db, const std::filesystem::path& file,
                         std::uint64_t most_unpacked_bytes = 0);

// The same for a file that `push.machine` sent to a server, and records who sent what in the same transaction. Returns
// the record, which is the earlier one if the database has the same file already. Messages name the file "the export".
// Refuses other records than ArchivedRecords::measured.
Push import_push(const std::filesystem::path& db, const std::filesystem::path& file, Push push);

}  // namespace perfbench::harness
