// A folder that is gone with its object.
#pragma once

#include <stdlib.h>  // mkdtemp

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "harness/input_error.h"
#include "harness/temporary_file.h"

namespace perfbench::harness {

class TemporaryFolder {
 public:
  // Below the folder of temporary files; its name begins with `prefix`. Throws InputError.
  explicit TemporaryFolder(const std::string& prefix) {
    const auto folder = folder_of_temporary_files();
    std::string pattern = (folder / (prefix + "-XXXXXX")).string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw InputError("no folder can be made in " + folder.string() + ": " + std::strerror(errno) +
                       "; name another with TMPDIR");
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace perfbench::harness
