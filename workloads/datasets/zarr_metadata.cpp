#include "workloads/datasets/zarr_metadata.h"

#include <limits>
#include <span>
#include <string>

#include "workloads/datasets/blosc_codec.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/whole_file.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::spec {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::int64_t kMostMetadataBytes = 1 << 20;
constexpr std::int64_t kMostChunkBytes = 1 << 30;  // of Blosc's own limit, 2^31 - 17
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

Json read_object(const fs::path& file) {
  const auto bytes = read_bytes(file, kMostMetadataBytes);
  try {
    auto json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!json.is_object()) throw DatasetError(file, "is not a JSON object");
    return json;
  } catch (const SpecError& e) {
    throw DatasetError(file, e.what());
  }
}

void write_object(const fs::path& file, const Json& json) {
  const std::string text = json.dump(4) + "\n";
  write_bytes(file, std::as_bytes(std::span(text)));
}

const Json& member(const fs::path& file, const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw DatasetError(file, std::string("has no '") + key + "'");
  return *found;
}

std::int64_t integer(const fs::path& file, const Json& value, const std::string& what) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{1} << 62);
  if (!fits) throw DatasetError(file, what + " is " + value.dump() + ", not an integer");
  return value.get<std::int64_t>();
}

void check_version(const fs::path& file, const Json& object) {
  const auto version = integer(file, member(file, object, "zarr_format"), "zarr_format");
  if (version != 2) throw DatasetError(file, "zarr_format is " + std::to_string(version) + "; only 2 is read");
}

// "shape" or "chunks" of an array of one dimension.
std::int64_t only_extent(const fs::path& file, const Json& object, const char* key) {
  const Json& list = member(file, object, key);
  if (!list.is_array() || list.size() != 1) {
    throw DatasetError(file, std::string(key) + " is " + list.dump() + "; the array has one dimension");
  }
  return integer(file, list[0], key);
}

void expect_text(const fs::path& file, const Json& object, const char* key, std::string_view wanted) {
  const Json& value = member(file, object, key);
  if (value != Json(wanted)) {
    throw DatasetError(file, std::string(key) + " is " + value.dump() + ", not \"" + std::string(wanted) + "\"");
  }
}

ChunkCompressor compressor_of(const fs::path& file, const Json& object) {
  const Json& value = member(file, object, "compressor");
  if (value.is_null()) return ChunkCompressor::none;
  if (!value.is_object()) throw DatasetError(file, "compressor is " + value.dump());
  expect_text(file, value, "id", "blosc");
  return ChunkCompressor::blosc;
}

ChunkFilter filter_of(const fs::path& file, const Json& object, std::string_view type) {
  const Json& value = member(file, object, "filters");
  if (value.is_null() || (value.is_array() && value.empty())) return ChunkFilter::none;
  if (!value.is_array() || value.size() != 1 || !value[0].is_object()) {
    throw DatasetError(file, "filters is " + value.dump() + "; null or one delta filter is read");
  }
  expect_text(file, value[0], "id", "delta");
  expect_text(file, value[0], "dtype", type);
  if (value[0].contains("astype")) expect_text(file, value[0], "astype", type);
  return ChunkFilter::delta;
}

}  // namespace

void check_group(const fs::path& group) {
  const auto file = group / ".zgroup";
  check_version(file, read_object(file));
}

void write_group(const fs::path& group) {
  std::error_code error;
  fs::create_directories(group, error);
  if (error) throw DatasetError(group, "cannot be made: " + error.message());
  write_object(group / ".zgroup", {{"zarr_format", 2}});
}

std::int64_t read_integer_attribute(const fs::path& group, std::string_view name) {
  const auto file = group / ".zattrs";
  const auto attributes = read_object(file);
  return integer(file, member(file, attributes, std::string(name).c_str()), std::string(name));
}

void write_integer_attribute(const fs::path& group, std::string_view name, std::int64_t value) {
  write_object(group / ".zattrs", {{std::string(name), value}});
}

ArrayLayout read_layout(const fs::path& array, std::string_view type) {
  const auto file = array / ".zarray";
  const auto object = read_object(file);
  check_version(file, object);
  expect_text(file, object, "dtype", type);
  const ArrayLayout layout{.elements = only_extent(file, object, "shape"),
                           .chunk_elements = only_extent(file, object, "chunks"),
                           .compressor = compressor_of(file, object),
                           .filter = filter_of(file, object, type)};
  constexpr std::int64_t kMostChunk = kMostChunkBytes / static_cast<std::int64_t>(sizeof(std::uint64_t));
  if (layout.elements < 0 || layout.elements > kMostElements) {
    throw DatasetError(file, "shape is [" + std::to_string(layout.elements) + "]");
  }
  if (layout.chunk_elements < 1 || layout.chunk_elements > kMostChunk) {
    throw DatasetError(
        file, "chunks is [" + std::to_string(layout.chunk_elements) + "], not from 1 to " + std::to_string(kMostChunk));
  }
  return layout;
}

void write_layout(const fs::path& array, const ArrayLayout& layout, std::string_view type) {
  Json compressor;
  if (layout.compressor == ChunkCompressor::blosc) {
    compressor = {{"id", "blosc"},
                  {"cname", kBloscCompressor},
                  {"clevel", kBloscLevel},
                  {"shuffle", kBloscShuffle},
                  {"blocksize", 0}};
  }
  Json filters;
  if (layout.filter == ChunkFilter::delta) filters = Json::array({{{"id", "delta"}, {"dtype", type}}});
  write_object(array / ".zarray", {{"zarr_format", 2},
                                   {"shape", Json::array({layout.elements})},
                                   {"chunks", Json::array({layout.chunk_elements})},
                                   {"dtype", type},
                                   {"order", "C"},
                                   {"fill_value", 0},
                                   {"compressor", compressor},
                                   {"filters", filters}});
}

}  // namespace perfbench::spec
