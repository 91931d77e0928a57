// A data set that cannot be read or written. The message names the path, what was found and what was expected.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace perfbench::spec {

class DatasetError : public std::runtime_error {
 public:
  DatasetError(const std::filesystem::path& path, const std::string& message)
      : std::runtime_error(path.string() + ": " + message) {}
};

}  // namespace perfbench::spec
