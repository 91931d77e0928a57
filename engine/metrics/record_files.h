// The files an engine leaves in its run directory (harness/evidence/attempt.h lists them).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace perfbench::engine {

// Appends lines, each handed to the operating system at once: what was written survives the death of this process.
// Throws EngineError naming the path when the disk is full, the folder is not writable, or the path is a pipe or
// folder.
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

// Replaces `path` by `text`: written beside it, synchronised, renamed. A reader sees the old file or the whole new one.
void write_whole_file(const std::filesystem::path& path, std::string_view text);
// Throws BadInput when it cannot be read, is no regular file, or is larger than any document of a run.
std::string read_whole_file(const std::filesystem::path& path);

}  // namespace perfbench::engine
