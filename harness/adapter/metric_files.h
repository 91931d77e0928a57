// Metric files that a program writes: finds, reads and copies them into the run directory.
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

// The only file that matches a path, whose last part may contain * and ?; nullopt if no file does. Throws ReaderError
// if several files match: the user has to choose one.
std::optional<std::filesystem::path> find_metric_file(const std::filesystem::path& path);

// The state of a file before the program started, which distinguishes a file of an earlier run.
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

// Reads the samples of a file. Throws ReaderError, FileError.
ReadFile read_metric_file(const std::filesystem::path& path, const std::string& format,
                          const readers::Settings& settings);

// Copies it into the folder under a name that begins with a number, and truncates a file larger than kLargestCopyBytes.
// Returns whether the copy is complete. Throws RunDirectoryError, FileError.
inline constexpr std::int64_t kLargestCopyBytes = std::int64_t{256} << 20;
bool copy_metric_file(const std::filesystem::path& path, const std::filesystem::path& folder, std::size_t number);

}  // namespace perfbench::adapter
