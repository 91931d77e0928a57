// Runs of a database as one file with its checksum (archive.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "harness/store/archive/record_import.h"
#include "harness/store/queries/query.h"

namespace perfbench::harness {

struct ExportRequest {
  std::filesystem::path db;
  Selection selection = {SelectionKind::all, {}, 0};  // all: all that write_records() knows
  std::filesystem::path file;
  std::string perfbench_version;
};

struct ExportReport {
  std::int64_t attempts = 0;
  std::int64_t step_rows = 0;
  std::uintmax_t file_bytes = 0;
  std::set<std::string> left_out = {};  // of the selection: what cannot be read
};

// Needs room beside `file` for its contents without compression, and little memory. Throws InputError for a selection
// that names nothing, and for a `file` that is there and is no export.
ExportReport export_runs(const ExportRequest& request);

// A file of `perfbench export` into a database. The same file can be taken in at any time, and two databases that take
// in each other's files end up with the same contents.
// One transaction; `db` is made if it does not exist. Throws InputError, with nothing taken in, for a file that is
// damaged or cut off or unpacks to more than it may (archive.h), of a newer perfbench, with records that no perfbench
// writes, or at odds with the database (record_import.h).
ImportCounts import_runs(const std::filesystem::path& db, const std::filesystem::path& file,
                         std::uint64_t most_unpacked_bytes = 0);

}  // namespace perfbench::harness
