#include "engine/weights/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "engine/core/bf16.h"
#include "engine/core/error.h"
#include "engine/metrics/record_files.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::engine {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "these files are little-endian");

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::int64_t kLargestHeaderBytes = 100'000'000;  // the limit of the format's own readers

struct TypeName {
  WeightType type;
  const char* name;
  std::int64_t bytes;
};
constexpr std::array kTypes{TypeName{WeightType::f32, "F32", 4}, TypeName{WeightType::bf16, "BF16", 2},
                            TypeName{WeightType::f16, "F16", 2}};

const TypeName& type_name(WeightType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw BadInput("weights: " + file.string() + " " + what);
}

std::vector<char> read_bytes(const fs::path& file, std::int64_t offset, std::int64_t count) {
  try {
    const auto opened = spec::RegularFile::open(file);
    if (!opened) refuse(file, "is missing");
    if (offset > opened->bytes() || count > opened->bytes() - offset) refuse(file, "is cut off");
    std::vector<char> bytes(static_cast<std::size_t>(count));
    if (opened->read_at(offset, bytes.data(), bytes.size()) != bytes.size()) refuse(file, "is cut off");
    return bytes;
  } catch (const spec::FileError& e) {
    throw BadInput(std::string("weights: ") + e.what());
  }
}

spec::Json parse_header(const fs::path& file, std::string_view text) {
  try {
    return spec::parse_json(text);
  } catch (const spec::SpecError& e) {
    refuse(file, std::string("has an invalid JSON header: ") + e.what());
  }
}

// Converts f16: five bits of exponent, ten of fraction (IEEE 754-2019, 3.6, binary16). Subnormal numbers count in units
// of 2^-24.
float of_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

float value_of(const char* at, WeightType type) {
  if (type == WeightType::f32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return type == WeightType::f16 ? of_f16(bits) : to_f32(Bf16{bits});
}

// Parses an entry of a header; its place counts from the first byte behind the header. Throws nlohmann's errors for
// another shape.
Safetensors::Entry parse_entry(const fs::path& file, const std::string& name, const spec::Json& json) {
  Safetensors::Entry entry{.file = file};
  entry.dtype = json.at("dtype").get<std::string>();
  const auto* const known =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& each) { return entry.dtype == each.name; });
  if (known != kTypes.end()) entry.type = known->type;
  std::int64_t elements = 1;
  for (const auto& dim : json.at("shape")) {
    const auto size = dim.get<std::int64_t>();
    if (size < 0 || (size > 0 && elements > (std::int64_t{1} << 48) / size)) {
      refuse(file, "has " + name + " with an impossible shape");
    }
    entry.shape.push_back(size);
    elements *= size;
  }
  const auto& places = json.at("data_offsets");
  entry.offset = places.at(0).get<std::int64_t>();
  const auto end = places.at(1).get<std::int64_t>();
  if (entry.offset < 0 || (entry.type && end - entry.offset != elements * known->bytes)) {
    refuse(file, "has " + name + " with a size in bytes that does not match its shape");
  }
  return entry;
}

std::string header_of(const std::vector<TensorToWrite>& tensors, WeightType type) {
  nlohmann::ordered_json header;
  header["__metadata__"]["format"] = "pt";
  std::int64_t offset = 0;
  for (const auto& tensor : tensors) {
    std::int64_t bytes = type_name(type).bytes;
    for (const auto dim : tensor.shape) bytes *= dim;
    header[tensor.name] = {
        {"dtype", type_name(type).name}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // aligns the values
  return text;
}

}  // namespace

std::int64_t Safetensors::Entry::elements() const {
  std::int64_t n = 1;
  for (const auto dim : shape) n *= dim;
  return n;
}

Safetensors::Safetensors(const fs::path& path) : path_(path) {
  if (!fs::exists(path / kIndex)) {
    add_file(fs::is_directory(path) ? path / kWeightsFile : path);
    return;
  }
  const auto index = parse_header(path / kIndex, read_whole_file(path / kIndex));
  try {
    std::map<std::string, int> files;
    for (const auto& [name, file] : index.at("weight_map").items()) ++files[file.get<std::string>()];
    for (const auto& [file, count] : files) {
      if (fs::path(file).filename() != file)
        refuse(path / kIndex, "names '" + file + "', which is not in the same folder");
      add_file(path / file);
    }
  } catch (const nlohmann::json::exception& e) {
    refuse(path / kIndex, std::string("is not an index of weights: ") + e.what());
  }
}

void Safetensors::add_file(const fs::path& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, read_bytes(file, 0, sizeof length).data(), sizeof length);
  if (length > static_cast<std::uint64_t>(kLargestHeaderBytes)) {
    refuse(file, "begins with a header of " + std::to_string(length) + " bytes: it is not a safetensors file");
  }
  const auto text = read_bytes(file, sizeof length, static_cast<std::int64_t>(length));
  const auto header = parse_header(file, {text.data(), text.size()});
  const std::int64_t begin = static_cast<std::int64_t>(sizeof length + length);
  try {
    for (const auto& [name, json] : header.items()) {
      if (name == "__metadata__") continue;
      auto entry = parse_entry(file, name, json);
      entry.offset += begin;
      if (!entries_.emplace(name, std::move(entry)).second)
        refuse(file, "has " + name + ", which another file also has");
    }
  } catch (const nlohmann::json::exception& e) {
    refuse(file, std::string("has a header that is not one of safetensors: ") + e.what());
  }
}

const Safetensors::Entry& Safetensors::weight(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) refuse(path_, "has no tensor " + name);
  const auto& entry = found->second;
  if (!entry.type) refuse(entry.file, "has " + name + " as " + entry.dtype + "; weights are F32, BF16 or F16");
  return entry;
}

std::vector<float> Safetensors::read(const std::string& name) const {
  const auto& entry = weight(name);
  const std::int64_t size = type_name(*entry.type).bytes;
  const auto bytes = read_bytes(entry.file, entry.offset, entry.elements() * size);
  std::vector<float> values(static_cast<std::size_t>(entry.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = value_of(bytes.data() + i * static_cast<std::size_t>(size), *entry.type);
  }
  return values;
}

void write_safetensors(const fs::path& file, const std::vector<TensorToWrite>& tensors, WeightType type) {
  if (type == WeightType::f16) throw LogicFault("weights: f16 cannot hold every weight");
  const auto header = header_of(tensors, type);
  const std::uint64_t length = header.size();
  const fs::path beside = file.string() + kPartialEnding;
  {
    NewFile out(beside);
    out.append(std::as_bytes(std::span(&length, 1)));
    out.append(std::as_bytes(std::span(header)));
    for (const auto& tensor : tensors) {
      const auto values = tensor.values();
      if (type == WeightType::f32) {
        out.append(std::as_bytes(std::span(values)));
        continue;
      }
      std::vector<std::uint16_t> rounded(values.size());
      std::transform(values.begin(), values.end(), rounded.begin(), [](float value) { return to_bf16(value).bits; });
      out.append(std::as_bytes(std::span(rounded)));
    }
    out.synchronise();
  }
  std::error_code failure;
  fs::rename(beside, file, failure);
  if (failure) throw EngineError(EngineExit::failed, "cannot rename " + beside.string() + ": " + failure.message());
}

}  // namespace perfbench::engine
