// Small files of a data set, read and written whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace perfbench::spec {

// Throws DatasetError if it is missing, unreadable or longer than `most_bytes`.
std::vector<std::byte> read_bytes(const std::filesystem::path& file, std::int64_t most_bytes);
// Throws DatasetError, for example on a full disk.
void write_bytes(const std::filesystem::path& file, std::span<const std::byte> bytes);

}  // namespace perfbench::spec
