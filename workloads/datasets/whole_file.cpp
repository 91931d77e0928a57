#include "workloads/datasets/whole_file.h"

#include <fstream>
#include <string>
#include <system_error>

#include "workloads/datasets/dataset_error.h"

namespace perfbench::spec {

std::vector<std::byte> read_bytes(const std::filesystem::path& file, std::int64_t most_bytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw DatasetError(file, error ? error.message() : "is not a file; it is missing from the data set");
  }
  const auto found = std::filesystem::file_size(file, error);
  if (error) throw DatasetError(file, error.message());
  if (found > static_cast<std::uintmax_t>(most_bytes)) {
    throw DatasetError(file, "has " + std::to_string(found) + " bytes, more than the " + std::to_string(most_bytes) +
                                 " that it can need; the file is damaged");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(found));
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) throw DatasetError(file, "cannot be read");
  return bytes;
}

void write_bytes(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw DatasetError(file, "cannot be written (is the disk full?)");
}

}  // namespace perfbench::spec
