// The part of zarr's storage specification, version 2, that flat-tokens data sets use: groups with attributes and
// one-dimensional little-endian arrays, one file per chunk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace perfbench::spec {

enum class ChunkCompressor { none, blosc };
enum class ChunkFilter { none, delta };

struct ArrayLayout {
  std::int64_t elements = 0;
  std::int64_t chunk_elements = 0;  // also for the last chunk, which is padded
  ChunkCompressor compressor = ChunkCompressor::none;
  ChunkFilter filter = ChunkFilter::none;

  std::int64_t chunks() const { return (elements + chunk_elements - 1) / chunk_elements; }
};

// The name of the element type in an array's metadata: "<u4".
template <class T>
inline constexpr std::string_view kTypeName = "";
template <>
inline constexpr std::string_view kTypeName<std::uint32_t> = "<u4";
template <>
inline constexpr std::string_view kTypeName<std::uint64_t> = "<u8";

// All throw DatasetError.
void check_group(const std::filesystem::path& group);
void write_group(const std::filesystem::path& group);  // makes the folder
std::int64_t read_integer_attribute(const std::filesystem::path& group, std::string_view name);
void write_integer_attribute(const std::filesystem::path& group, std::string_view name, std::int64_t value);
ArrayLayout read_layout(const std::filesystem::path& array, std::string_view type);
void write_layout(const std::filesystem::path& array, const ArrayLayout& layout, std::string_view type);

}  // namespace perfbench::spec
