// Where temporary files are, and a file beside another one that is gone with its object.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "harness/input_error.h"
#include "workloads/spec/process_token.h"

namespace perfbench::harness {

// The folder that TMPDIR, TMP, TEMP or TEMPDIR names, or /tmp. Throws InputError, naming the variable, if it does not
// exist.
inline std::filesystem::path folder_of_temporary_files() {
  std::error_code error;
  auto folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder;
  for (const auto* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {  // as the standard library looks them up
    if (const char* const value = std::getenv(variable)) {
      throw InputError(std::string(variable) + " is '" + value + "', which is no folder (" + error.message() +
                       "); name one that exists");
    }
  }
  throw InputError("/tmp is no folder (" + error.message() + "); name another with TMPDIR");
}

// Removes what a process that was killed left of its TemporaryFile(beside, what). A process that is at work writes to
// its own: what nobody has written to for an hour is nobody's.
inline void remove_old_temporary_files(const std::filesystem::path& beside, const std::string& what) {
  constexpr auto kLongestPause = std::chrono::hours(1);
  const auto begin = beside.filename().string() + ".";
  const auto end = "." + what;
  std::vector<std::filesystem::path> old;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::absolute(beside).parent_path(), ignored)) {
    const auto name = entry.path().filename().string();
    const auto end_at = begin.size() + spec::process_token().size();
    if (!name.starts_with(begin) || name.compare(std::min(end_at, name.size()), end.size(), end) != 0) continue;
    if (name.find_first_not_of("0123456789abcdef", begin.size()) != end_at) continue;
    const auto suffix = name.substr(end_at + end.size());
    if (!suffix.empty() && suffix != "-wal" && suffix != "-shm" && suffix != "-journal") continue;
    const auto written = entry.last_write_time(ignored);
    if (!ignored && written < std::filesystem::file_time_type::clock::now() - kLongestPause)
      old.push_back(entry.path());
  }
  for (const auto& path : old) std::filesystem::remove(path, ignored);
}

class TemporaryFile {
 public:
  // Removes what others left of theirs, too. Throws InputError if the folder does not exist.
  TemporaryFile(const std::filesystem::path& beside, const std::string& what)
      : path_(beside.string() + "." + spec::process_token() + "." + what) {
    const auto folder = std::filesystem::absolute(beside).parent_path();
    if (!std::filesystem::is_directory(folder)) {
      throw InputError(beside.string() + ": the folder " + folder.string() + " does not exist");
    }
    remove_old_temporary_files(beside, what);
    remove();
  }
  ~TemporaryFile() { remove(); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  // With what SQLite keeps beside a database.
  void remove() const {
    std::error_code ignored;
    for (const auto* suffix : {"", "-wal", "-shm", "-journal"})
      std::filesystem::remove(path_.string() + suffix, ignored);
  }
  std::filesystem::path path_;
};

}  // namespace perfbench::harness
