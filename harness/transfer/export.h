// Runs of a database as one file with its checksum (archive.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "harness/store/query.h"

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

}  // namespace perfbench::harness
