#include "harness/data/prepare.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/input_error.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/flat_tokens_writer.h"

namespace perfbench::harness {
namespace {

std::vector<std::int32_t> byte_tokens(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) {
    throw InputError("[data] " + file.string() + " cannot be read: " + std::strerror(errno));
  }
  std::vector<std::int32_t> ids;
  ids.reserve(bytes.size());
  for (const char c : bytes) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

// Spreads the files for validation evenly: file i is one where the whole part of (i + 1) * fraction goes up.
spec::Split split_of(std::int64_t index, double fraction) {
  const auto i = static_cast<double>(index);
  return std::floor((i + 1) * fraction) > std::floor(i * fraction) ? spec::Split::validation : spec::Split::train;
}

SplitSize size_of(const spec::FlatTokensWriter& writer, spec::Split split) {
  return {.tokens = writer.tokens(split), .sequences = writer.sequences(split)};
}

}  // namespace

PreparedDataset prepare_bytes(const PrepareRequest& request) {
  PreparedDataset prepared;
  try {
    spec::FlatTokensWriter writer({.dataset = request.out, .max_token_id = kByteVocabulary - 1});
    std::int64_t index = 0;
    for (const auto& file : request.files) {
      const auto ids = byte_tokens(file);
      if (ids.empty()) {
        ++prepared.empty_files;
        continue;
      }
      writer.append(split_of(index, request.validation_fraction), ids);
      ++index;
    }
    if (index == 0) throw InputError("[data] all files are empty; a data set needs text");
    prepared.train = size_of(writer, spec::Split::train);
    prepared.validation = size_of(writer, spec::Split::validation);
    writer.finish();
  } catch (const spec::DatasetError& e) {
    throw InputError(std::string("[data] ") + e.what());
  }
  return prepared;
}

}  // namespace perfbench::harness
