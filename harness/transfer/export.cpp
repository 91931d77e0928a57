#include "harness/transfer/export.h"

#include "harness/input_error.h"
#include "harness/store/database.h"
#include "harness/transfer/archive.h"
#include "harness/transfer/merge.h"
#include "harness/transfer/temporary_file.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

void check_target(const fs::path& file) {
  if (fs::exists(file) && !is_archive(file)) {
    throw InputError("[export] " + file.string() + " is there and is no file of `perfbench export`: name another one");
  }
}

MergeScope scope_of(const Connection& store, const Selection& selection) {
  if (selection.kind == SelectionKind::all) return {};
  std::vector<std::int64_t> keys;
  for (const auto& attempt : load_attempts(store, selection)) keys.push_back(attempt.key);
  if (keys.empty()) throw InputError("[export] " + store.path().string() + " holds no attempt");
  return {.attempt_keys = std::move(keys)};
}

std::int64_t count_rows(const Connection& db, const std::string& table) {
  Statement count(db, "SELECT count(*) FROM " + table);
  count.step();
  return count.integer(0);
}

// Fills the database `payload`, which is thrown away if that fails: it needs no journal.
ExportReport fill(const fs::path& payload, const ExportRequest& request) {
  const auto store = open_database(request.db, {.mode = OpenMode::read_only});
  const auto scope = scope_of(store, request.selection);
  auto db = open_database(payload);
  db.execute("PRAGMA journal_mode = DELETE");  // leaves WAL mode: all is in one file
  db.execute("PRAGMA journal_mode = OFF");
  db.execute("PRAGMA synchronous = OFF");
  db.attach(store, "source");
  Transaction transaction(db);
  merge_source(db, scope, request.db.string());
  transaction.commit();
  return {.attempts = count_rows(db, "attempts"), .step_rows = count_rows(db, "steps"), .left_out = store.left_out()};
}

}  // namespace

ExportReport export_runs(const ExportRequest& request) {
  check_target(request.file);
  const TemporaryFile payload(request.file, "db");
  auto report = fill(payload.path(), request);
  write_archive({.schema_version = current_schema().version(),
                 .attempts = report.attempts,
                 .perfbench_version = request.perfbench_version},
                payload.path(), request.file);
  report.file_bytes = fs::file_size(request.file);
  return report;
}

}  // namespace perfbench::harness
