// Where temporary files are, and a file beside another one that is gone with its object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

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

class TemporaryFile {
 public:
  // Throws InputError if the folder does not exist.
  TemporaryFile(const std::filesystem::path& beside, const std::string& what)
      : path_(beside.string() + "." + spec::process_token() + "." + what) {
    const auto folder = std::filesystem::absolute(beside).parent_path();
    if (!std::filesystem::is_directory(folder)) {
      throw InputError(beside.string() + ": the folder " + folder.string() + " does not exist");
    }
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
