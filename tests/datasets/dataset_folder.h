// Data sets written by hand, as other programs write them: uncompressed chunks, metadata as text.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace perfbench::spec {

// Removed at the end of the test.
class DatasetFolder {
 public:
  explicit DatasetFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / (name + "-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~DatasetFolder() { std::filesystem::remove_all(path_); }
  DatasetFolder(const DatasetFolder&) = delete;
  DatasetFolder& operator=(const DatasetFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  void text(const std::string& file, const std::string& content) const {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file, std::ios::binary) << content;
  }
  template <class T>
  void chunk(const std::string& file, const std::vector<T>& values) const {
    text(file, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  }
  std::string read(const std::string& file) const {
    std::ifstream in(path_ / file, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }

 private:
  std::filesystem::path path_;
};

inline std::string zarray(const std::string& type, int elements, int chunk) {
  return R"({"zarr_format": 2, "shape": [)" + std::to_string(elements) + R"(], "chunks": [)" + std::to_string(chunk) +
         R"(], "dtype": ")" + type + R"(", "compressor": null, "filters": null, "fill_value": 0, "order": "C"})";
}

// [[1, 2], [3, 4, 5], [6, 7, 8]], the example of the format's description, in chunks of three tokens.
inline void write_example(const DatasetFolder& folder) {
  folder.text(".zgroup", R"({"zarr_format": 2})");
  for (const std::string split : {"train", "validation"}) {
    folder.text(split + "/.zgroup", R"({"zarr_format": 2})");
    folder.text(split + "/.zattrs", R"({"max_token_id": 8})");
    folder.text(split + "/encoded_tokens/.zarray", zarray("<u4", 8, 3));
    folder.chunk<std::uint32_t>(split + "/encoded_tokens/0", {3, 4, 7});
    folder.chunk<std::uint32_t>(split + "/encoded_tokens/1", {8, 10, 13});
    folder.chunk<std::uint32_t>(split + "/encoded_tokens/2", {14, 16, 0});
    folder.text(split + "/seq_starts/.zarray", zarray("<u8", 4, 4));
    folder.chunk<std::uint64_t>(split + "/seq_starts/0", {0, 2, 5, 8});
  }
}

}  // namespace perfbench::spec
