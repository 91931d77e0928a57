#include "harness/transfer/import.h"

#include <string>
#include <string_view>

#include "harness/input_error.h"
#include "harness/store/database.h"
#include "harness/temporary_file.h"
#include "harness/transfer/archive.h"
#include "harness/transfer/version1_payload.h"
#include "workloads/spec/regular_file.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// Hands on each line without its newline, of bytes that come piece by piece. A line that is longer than any may be is
// handed on as far as it was read, for the one who takes it to refuse.
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
  std::string held_;  // of a line whose end is still to come
};

// Straight from the file, so that nothing unpacked lies about, however this process ends.
void take_records(const CheckedArchive& archive, std::uint64_t most_unpacked_bytes, RecordImport& records) {
  const LineSink take = [&records](std::string_view line) { records.take(line); };
  LineSplitter lines(take);
  archive.unpack(most_unpacked_bytes, [&lines](std::string_view bytes) { lines.take(bytes); });
  lines.finish();
}

// SQLite reads a database from a file alone.
void take_version1(const CheckedArchive& archive, const fs::path& file, std::uint64_t most_unpacked_bytes,
                   const Connection& db, RecordImport& records) {
  const TemporaryFile payload(db.path(), "import");
  archive.unpack_to(payload.path(), most_unpacked_bytes);
  read_version1(payload.path(), file.string(), db,
                [&records](std::string_view line) { records.take(line.substr(0, line.size() - 1)); });
}

}  // namespace

ImportCounts import_runs(const fs::path& path, const fs::path& file, std::uint64_t most_unpacked_bytes) {
  remove_old_temporary_files(path, "import");
  const CheckedArchive archive(file);
  const auto& header = archive.header();
  if (header.schema_version > current_schema().version()) {
    throw InputError("[import] " + file.string() + " is of a database of schema version " +
                     std::to_string(header.schema_version) + ", this perfbench knows versions up to " +
                     std::to_string(current_schema().version()) + "; use a newer perfbench");
  }
  auto db = open_database(path);
  Transaction transaction(db);
  RecordImport records(db, file.string());
  if (header.version == 1) {
    take_version1(archive, file, most_unpacked_bytes, db, records);
  } else {
    take_records(archive, most_unpacked_bytes, records);
  }
  auto counts = records.finish();
  transaction.commit();
  return counts;
}

}  // namespace perfbench::harness
