#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace perfbench::harness {

// The whole text of a file; empty where there is none.
inline std::string text_of_file(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace perfbench::harness
