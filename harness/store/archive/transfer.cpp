#include "harness/store/archive/transfer.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "harness/store/archive/archive.h"
#include "harness/store/archive/record_writer.h"
#include "harness/store/database.h"
#include "harness/system/files.h"
#include "harness/system/input_error.h"
#include "workloads/spec/regular_file.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

void check_target(const fs::path& file) {
  if (fs::exists(file) && !is_archive(file)) {
    throw InputError("[export] " + file.string() + " exists and is not a file of `perfbench export`: name another one");
  }
}

ExportReport fill(const fs::path& payload, const ExportRequest& request) {
  const auto store = open_database(request.db, {.mode = OpenMode::read_only});
  std::ofstream out(payload, std::ios::binary);
  const auto check = [&] {
    if (!out) throw std::runtime_error("writing " + payload.string() + " failed: " + std::strerror(errno));
  };
  const LineSink sink = [&](std::string_view line) {
    out << line;
    check();
  };
  const auto written = write_records(store, request.selection, request.records, sink);
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

std::vector<Selection> parts_of_all(const Connection& db) {
  std::vector<Selection> out;
  Statement sweeps(db, "SELECT sweep_id FROM sweeps WHERE sweep_id <> '' ORDER BY started_utc, sweep_key");
  while (sweeps.step()) out.push_back({.kind = SelectionKind::sweep, .id = sweeps.text(0)});
  Statement runs(db,
                 "SELECT DISTINCT run_id FROM attempts JOIN runs USING (run_key) JOIN sweeps USING (sweep_key) "
                 "WHERE sweep_id = '' ORDER BY run_key");
  while (runs.step()) out.push_back({.kind = SelectionKind::run, .id = runs.text(0)});
  return out;
}

namespace {

// Splits bytes that arrive in pieces into lines and passes on each without its newline. A line that is too long is
// passed on as far as it was read, so that the receiver refuses it.
class LineSplitter {
 public:
  explicit LineSplitter(const LineSink& sink) : sink_(sink) {}
  void take(std::string_view rest) {
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      held_ += rest.substr(0, end);
      sink_(held_);
      held_.clear();
      rest.remove_prefix(end + 1);
    }
    held_ += rest;
    if (held_.size() > static_cast<std::size_t>(spec::kLargestDocumentBytes)) sink_(held_);
  }
  void finish() const {
    if (!held_.empty()) sink_(held_);
  }

 private:
  const LineSink& sink_;
  std::string held_;  // the part of a line whose end has not arrived yet
};

// Records shrink to about a twentieth. A file of a machine that unpacks to far more would fill the server's disk.
constexpr std::uint64_t kPushUnpackedTimes = 40;

// Directly from the file, so that no unpacked data stays behind, however this process ends.
void take_records(const CheckedArchive& archive, std::uint64_t most_unpacked_bytes, RecordImport& records) {
  const LineSink take = [&records](std::string_view line) { records.take(line); };
  LineSplitter lines(take);
  archive.unpack(most_unpacked_bytes, [&lines](std::string_view bytes) { lines.take(bytes); });
  lines.finish();
}

}  // namespace

ImportCounts import_runs(const fs::path& path, const fs::path& file, std::uint64_t most_unpacked_bytes) {
  const CheckedArchive archive(file);
  auto db = open_database(path);
  Transaction transaction(db);
  RecordImport records(db, file.string());
  take_records(archive, most_unpacked_bytes, records);
  auto counts = records.finish();
  transaction.commit();
  return counts;
}

Push import_push(const fs::path& path, const fs::path& file, Push push) {
  const CheckedArchive archive(file);
  auto db = open_database(path, {.absent = AbsentFile::is_an_error});
  db.execute("PRAGMA synchronous = FULL");  // the sender forgets the file once it is stored
  Transaction transaction(db);
  if (const auto known = find_push(db, push.sha256)) return *known;
  const auto last = last_attempt_key(db);
  RecordImport records(db, "the export", ArchivedRecords::measured);
  take_records(archive, kUnpackedAlways + kPushUnpackedTimes * static_cast<std::uint64_t>(push.bytes), records);
  const auto counts = records.finish();
  push.added = counts.at("attempts").added;
  push.present = counts.at("attempts").present;
  record_push(db, push, last);
  transaction.commit();
  return push;
}

}  // namespace perfbench::harness
