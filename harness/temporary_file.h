// A file beside another one, of the same file system, that is gone with this object.
#pragma once

#include <filesystem>
#include <string>

#include "harness/input_error.h"
#include "workloads/spec/process_token.h"

namespace perfbench::harness {

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
