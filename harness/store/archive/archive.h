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

// Bytes that are no zstd frame, or not the whole of one.
class ZstdError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Fills the string with the next bytes, up to any length; empty at the end.
using ByteSource = std::function<void(std::string& bytes)>;
using ByteSink = std::function<void(std::string_view bytes)>;

// One frame.
void zstd_compress(const ByteSource& source, const ByteSink& sink);

// Throws ZstdError.
void zstd_decompress(const ByteSource& source, const ByteSink& sink);

// A file of runs on its way from one database to another:
//
//   perfbench-export {"attempts":...}    one line: ArchiveHeader
//   ...                                  a zstd frame: records, one a line (record_writer.h)
//   sha256 0123...                       one line: SHA-256 of all bytes before this line
//
// In version 1 the frame is an SQLite database (version1_payload.h).
struct ArchiveHeader {
  std::int64_t version = 2;         // of this format
  std::int64_t schema_version = 1;  // of the database that it is of
  std::int64_t attempts = 0;
  std::string perfbench_version = {};  // that wrote it

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"version", "version of the format", 1}, self.version);
    f(Field{"schema_version", "version of the schema of the database", 1}, self.schema_version);
    f(Field{"attempts", "attempts in it", 0}, self.attempts);
    f(Field{"perfbench_version", "version of the perfbench that wrote it"}, self.perfbench_version);
  }
};

// Whether the file begins as one of ours does; false where there is none.
bool is_archive(const std::filesystem::path& file);

// Replaces `file` when all is written and not before. Throws std::runtime_error when it cannot be written.
void write_archive(const ArchiveHeader& header, const std::filesystem::path& payload,
                   const std::filesystem::path& file);

// What a file may unpack to unless it is told: so many times its own size (records shrink to about a twentieth), or
// this much whatever its size.
inline constexpr std::uint64_t kUnpackedTimes = 200;
inline constexpr std::uint64_t kUnpackedAlways = std::uint64_t{64} << 20;

// A file whose checksum is right.
class CheckedArchive {
 public:
  // Reads all of it. Throws InputError for a file that is not an export, is damaged or cut off, or is of a newer
  // perfbench.
  explicit CheckedArchive(const std::filesystem::path& file);

  const ArchiveHeader& header() const { return header_; }
  // Hands on its contents, up to `most_bytes` (0: by the size of the file). Throws InputError for contents that are
  // more or cannot be unpacked.
  void unpack(std::uint64_t most_bytes, const ByteSink& sink) const;
  // Into a file, and no more than its disk has room for.
  void unpack_to(const std::filesystem::path& payload, std::uint64_t most_bytes) const;

 private:
  std::filesystem::path file_;
  std::uint64_t size_ = 0;
  std::uint64_t begin_ = 0;  // of the contents, within the file
  std::uint64_t end_ = 0;
  ArchiveHeader header_;
};

// Both: checks `file`, and unpacks it to `payload`.
ArchiveHeader read_archive(const std::filesystem::path& file, const std::filesystem::path& payload,
                           std::uint64_t most_bytes = 0);

}  // namespace perfbench::harness
