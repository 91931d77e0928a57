// Metric files that a program writes: found, read and copied into the run directory.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/readers/reader.h"
#include "workloads/spec/program_spec.h"

namespace perfbench::adapter {

// The only file that a path names, whose last part may have * and ?; nothing if there is none. Throws ReaderError for
// several files: which one is meant has to be said.
std::optional<std::filesystem::path> find_metric_file(const std::filesystem::path& path);

// How a file was before the program started, so that one of an earlier run is not taken for this one's.
struct FileState {
  std::int64_t bytes = 0;
  std::filesystem::file_time_type written = {};
  bool operator==(const FileState&) const = default;
};
std::optional<FileState> file_state(const std::filesystem::path& path);

struct ReadFile {
  std::vector<spec::Sample> samples;
  std::vector<std::string> notes;
};

// What the reader finds in a file. Throws ReaderError, FileError.
ReadFile read_metric_file(const std::filesystem::path& path, const std::string& format,
                          const readers::Settings& settings);

// Copies it into the folder, under a name that begins with a number; a file beyond kLargestCopyBytes is cut off there.
// Returns whether it is whole. Throws RunDirectoryError, FileError.
inline constexpr std::int64_t kLargestCopyBytes = std::int64_t{256} << 20;
bool copy_metric_file(const std::filesystem::path& path, const std::filesystem::path& folder, std::size_t number);

}  // namespace perfbench::adapter
