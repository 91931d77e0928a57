// program.log: the output of a program, limited in size. A program that prints without end must not fill the disk. So
// the beginning and the end are kept, and a line between them says how much is missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "harness/system/files.h"

namespace perfbench::adapter {

class OutputLog {
 public:
  static constexpr std::int64_t kHeadBytes = std::int64_t{16} << 20;
  static constexpr std::int64_t kTailBytes = std::int64_t{1} << 20;

  // Throws RunDirectoryError.
  explicit OutputLog(std::filesystem::path file);

  // Throw RunDirectoryError, for example on a full disk.
  void add(std::string_view text);
  void finish();

  std::int64_t dropped_bytes() const { return dropped_bytes_; }

 private:
  void write(std::string_view text);

  std::filesystem::path path_;
  harness::FileDescriptor file_;
  std::int64_t head_bytes_ = 0;
  std::string tail_;  // up to twice the limit, so that it is cut rarely
  std::int64_t dropped_bytes_ = 0;
};

}  // namespace perfbench::adapter
