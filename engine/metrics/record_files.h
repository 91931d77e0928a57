// The files that an engine writes: those of its run directory (harness/evidence/attempt.h lists them), and large ones.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace perfbench::engine {

// Appends lines. Each goes to the operating system at once, so written lines survive the death of this process. Throws
// EngineError naming the path if the disk is full, the folder is not writable, or the path is a pipe or a folder.
class LineFile {
 public:
  explicit LineFile(std::filesystem::path path);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  void append(std::string_view line);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

// A large file that is written once, from the front. Throws as LineFile does.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::span<const std::byte> bytes);
  // Returns once all of it is on the disk.
  void synchronise();

 private:
  std::filesystem::path path_;
  int descriptor_;
};

// Replaces `path` by `text`: writes it beside the file, syncs it, and renames it. A reader sees the old file or the
// whole new one.
void write_whole_file(const std::filesystem::path& path, std::string_view text);
// Throws BadInput if the file cannot be read, is not a regular file, or is larger than any document of a run.
std::string read_whole_file(const std::filesystem::path& path);

}  // namespace perfbench::engine
