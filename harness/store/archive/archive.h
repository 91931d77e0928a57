// zstd over streams of any length, in constant memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "workloads/spec/fields.h"

namespace perfbench::harness {

// The bytes are not a zstd frame, or not a complete one.
class ZstdError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Fills the string with the next bytes, of any length; empty at the end.
using ByteSource = std::function<void(std::string& bytes)>;
using ByteSink = std::function<void(std::string_view bytes)>;

// Writes one frame.
void zstd_compress(const ByteSource& source, const ByteSink& sink);

// Throws ZstdError.
void zstd_decompress(const ByteSource& source, const ByteSink& sink);

// A file that carries runs from one database to another:
//
//     perfbench-export {"attempts":...}    one line: ArchiveHeader
//     ...                                  a zstd frame: records, one a line (record_writer.h)
//     sha256 0123...                       one line: SHA-256 of all bytes before this line
//
// The version of the format rises when an older perfbench could not read the records. No release wrote version 1.
struct ArchiveHeader {
  std::int64_t version = 2;         // of this format
  std::int64_t schema_version = 1;  // of the database that the records came from; for information
  std::int64_t attempts = 0;
  std::string perfbench_version = {};  // of the program that wrote it

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"version", "version of the format", 1}, self.version);
    f(Field{"schema_version", "version of the schema of the database", 1}, self.schema_version);
    f(Field{"attempts", "number of attempts in it", 0}, self.attempts);
    f(Field{"perfbench_version", "version of the perfbench that wrote it"}, self.perfbench_version);
  }
};

// The records that a file may have.
enum class ArchivedRecords {
  all,
  measured,  // attempts, and comparisons in pairs with their judgements: nothing that people add, and no alerts
};

// Whether the file begins like an export; false if it does not exist.
bool is_archive(const std::filesystem::path& file);

// Replaces `file` only when everything is written. Throws std::runtime_error if it cannot be written.
void write_archive(const ArchiveHeader& header, const std::filesystem::path& payload,
                   const std::filesystem::path& file);

// The default limit for the unpacked size of a file: this many times its own size (records shrink to about a
// twentieth), or this much if that is larger.
inline constexpr std::uint64_t kUnpackedTimes = 200;
inline constexpr std::uint64_t kUnpackedAlways = std::uint64_t{64} << 20;

// A file with a valid checksum.
class CheckedArchive {
 public:
  // Reads the whole file. Throws InputError for a file that is not an export, is damaged or cut off, or comes from a
  // newer perfbench.
  explicit CheckedArchive(const std::filesystem::path& file);

  const ArchiveHeader& header() const { return header_; }
  // Passes on its contents, up to `most_bytes` (0: a limit by the size of the file). Throws InputError for contents
  // that are larger or cannot be unpacked.
  void unpack(std::uint64_t most_bytes, const ByteSink& sink) const;

 private:
  std::filesystem::path file_;
  std::uint64_t size_ = 0;
  std::uint64_t begin_ = 0;  // of the contents, within the file
  std::uint64_t end_ = 0;
  ArchiveHeader header_;
};

}  // namespace perfbench::harness
