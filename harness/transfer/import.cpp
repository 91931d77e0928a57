#include "harness/transfer/import.h"

#include <fstream>
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

// Hands on each line without its newline. A line that is longer than any may be is handed on as far as it was read, for
// the one who takes it to refuse.
void read_lines(const fs::path& payload, const LineSink& sink) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  std::ifstream in(payload, std::ios::binary);
  std::string chunk(kPieceBytes, '\0');
  std::string held;  // of a line whose end is still to come
  while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), in.gcount() > 0) {
    std::string_view rest(chunk.data(), static_cast<std::size_t>(in.gcount()));
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      held += rest.substr(0, end);
      sink(held);
      held.clear();
      rest.remove_prefix(end + 1);
    }
    held += rest;
    if (held.size() > static_cast<std::size_t>(spec::kLargestDocumentBytes)) break;
  }
  if (!held.empty()) sink(held);
}

}  // namespace

ImportCounts import_runs(const fs::path& path, const fs::path& file, std::uint64_t most_unpacked_bytes) {
  const TemporaryFile payload(path, "import");
  const auto header = read_archive(file, payload.path(), most_unpacked_bytes);
  if (header.schema_version > current_schema().version()) {
    throw InputError("[import] " + file.string() + " is of a database of schema version " +
                     std::to_string(header.schema_version) + ", this perfbench knows versions up to " +
                     std::to_string(current_schema().version()) + "; use a newer perfbench");
  }
  auto db = open_database(path);
  Transaction transaction(db);
  RecordImport records(db, file.string());
  if (header.version == 1) {
    read_version1(payload.path(), file.string(), db,
                  [&](std::string_view line) { records.take(line.substr(0, line.size() - 1)); });
  } else {
    read_lines(payload.path(), [&](std::string_view line) { records.take(line); });
  }
  auto counts = records.finish();
  transaction.commit();
  return counts;
}

}  // namespace perfbench::harness
