// The files of an attempt (attempt.h shows the layout). Files that must survive a power cut are written under a
// temporary name, flushed, and renamed. attempt.json comes last, so a folder that has it is complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/evidence/attempt.h"

namespace perfbench::harness {

// A folder or file of a run could not be written or read. The message names the path and the reason.
class RunDirectoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct AttemptDirectory {
  std::filesystem::path path;
  std::int64_t attempt = 1;
};

// RUNS/<first 16 digits of the run id>
std::filesystem::path run_folder(const std::filesystem::path& runs, const std::string& run_id);

// Makes the folder of the next attempt; two concurrent sweeps get different ones. Throws RunDirectoryError.
AttemptDirectory create_attempt(const std::filesystem::path& runs, const std::string& run_id);

// All attempts of a run by number, whether complete or not.
std::vector<AttemptDirectory> list_attempts(const std::filesystem::path& runs, const std::string& run_id);

// The directory that create_attempt() made at this path.
AttemptDirectory attempt_directory(const std::filesystem::path& path);

// Whether the attempt has its attempt.json.
bool is_complete_attempt(const std::filesystem::path& attempt);

// The whole content of a regular file; nullopt if there is no file. Throws RunDirectoryError, also for anything that is
// not a regular file.
std::optional<std::string> read_file(const std::filesystem::path& file);

enum class FileMode { data, executable };

// Writes a temporary file, flushes and renames it, and flushes the folder. Throws RunDirectoryError, for example on a
// full disk. For perfbench's own files; output_file.h writes those that a user names.
void write_atomically(const std::filesystem::path& file, std::string_view text, FileMode mode = FileMode::data);

}  // namespace perfbench::harness
