#include "harness/transfer/export.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "harness/input_error.h"
#include "harness/store/database.h"
#include "harness/temporary_file.h"
#include "harness/transfer/archive.h"
#include "harness/transfer/record_writer.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

void check_target(const fs::path& file) {
  if (fs::exists(file) && !is_archive(file)) {
    throw InputError("[export] " + file.string() + " is there and is no file of `perfbench export`: name another one");
  }
}

ExportReport fill(const fs::path& payload, const ExportRequest& request) {
  const auto store = open_database(request.db, {.mode = OpenMode::read_only});
  std::ofstream out(payload, std::ios::binary);
  const auto check = [&] {
    if (!out) throw std::runtime_error("writing " + payload.string() + " failed: " + std::strerror(errno));
  };
  const auto written = write_records(store, request.selection, [&](std::string_view line) {
    out << line;
    check();
  });
  out.close();
  check();
  return {.attempts = written.attempts, .step_rows = written.step_rows, .left_out = store.left_out()};
}

}  // namespace

ExportReport export_runs(const ExportRequest& request) {
  check_target(request.file);
  const TemporaryFile payload(request.file, "records");
  auto report = fill(payload.path(), request);
  write_archive({.schema_version = current_schema().version(),
                 .attempts = report.attempts,
                 .perfbench_version = request.perfbench_version},
                payload.path(), request.file);
  report.file_bytes = fs::file_size(request.file);
  return report;
}

}  // namespace perfbench::harness
