// Files that another process may have made, damaged or replaced: only regular files are read, and only up to a size.
// Anything else could block a reader for ever (a pipe without a writer) or fill its memory (a link to /dev/zero).
// Everything that reads a run directory uses this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

namespace perfbench::spec {

// The most that a file of a run directory may contain, far above what a run writes.
inline constexpr std::int64_t kLargestDocumentBytes = std::int64_t{64} << 20;  // run, env, result, attempt .json
inline constexpr std::int64_t kLargestRecordsBytes = std::int64_t{4} << 30;    // steps, samples or trace of one rank

// There is a file, but it must not be read. The message names the file, its kind, and what to do about it.
class FileError : public std::runtime_error {
 public:
  FileError(const std::filesystem::path& path, const std::string& trouble)
      : std::runtime_error(path.string() + " " + trouble), trouble_(trouble) {}
  const std::string& trouble() const { return trouble_; }  // the message without the path: "is a pipe, ..."

 private:
  std::string trouble_;
};

class RegularFile {
 public:
  // Never blocks, whatever `path` is. Returns nothing if there is no file. Throws FileError, also if it exceeds
  // `most_bytes`.
  static std::optional<RegularFile> open(const std::filesystem::path& path, std::int64_t most_bytes = INT64_MAX);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  std::int64_t bytes() const { return bytes_; }  // at the time it was opened
  // Fills `data` from `offset` on; returns the number of bytes read, 0 at the end. Throws FileError.
  std::size_t read_at(std::int64_t offset, char* data, std::size_t size) const;

 private:
  RegularFile(std::filesystem::path path, int descriptor);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t bytes_ = 0;
};

// Reads the whole file; returns nothing if there is none. Throws FileError, also if it exceeds `most_bytes`.
std::optional<std::string> read_regular_file(const std::filesystem::path& path, std::int64_t most_bytes);

// Opens a file for writing, as open(2) does with `flags`, if it does not exist or is a regular file (or a device such
// as /dev/null, which never blocks a writer). Never blocks. Returns its descriptor. Throws FileError.
int open_regular_for_writing(const std::filesystem::path& path, int flags);

}  // namespace perfbench::spec
