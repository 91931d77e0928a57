// The contents of an export as a file, so that tests can look at them and change them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

#include "harness/store/archive/archive.h"

namespace perfbench::harness {

// Checks `file` and writes its contents to `payload`.
inline ArchiveHeader read_archive(const std::filesystem::path& file, const std::filesystem::path& payload,
                                  std::uint64_t most_bytes = 0) {
  const CheckedArchive archive(file);
  std::ofstream out(payload, std::ios::binary);
  archive.unpack(most_bytes,
                 [&](std::string_view bytes) { out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())); });
  return archive.header();
}

}  // namespace perfbench::harness
