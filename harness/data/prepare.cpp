#include "harness/data/prepare.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/data/token_lines.h"
#include "harness/input_error.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/flat_tokens_writer.h"

namespace perfbench::harness {
namespace {

constexpr std::int32_t kByteVocabulary = 256;

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

// Spreads what is held out for validation evenly: item i is where the whole part of (i + 1) * fraction goes up.
spec::Split split_of(std::int64_t index, double fraction) {
  const auto i = static_cast<double>(index);
  return std::floor((i + 1) * fraction) > std::floor(i * fraction) ? spec::Split::validation : spec::Split::train;
}

SplitSize size_of(const spec::FlatTokensWriter& writer, spec::Split split) {
  return {.tokens = writer.tokens(split), .sequences = writer.sequences(split)};
}

// `append` writes the sequences.
template <class Append>
PreparedDataset write_dataset(const spec::FlatTokensOptions& options, const Append& append) {
  PreparedDataset prepared;
  prepared.vocab_size = std::int64_t{options.max_token_id} + 1;
  try {
    spec::FlatTokensWriter writer(options);
    append(writer, prepared);
    prepared.train = size_of(writer, spec::Split::train);
    prepared.validation = size_of(writer, spec::Split::validation);
    writer.finish();
  } catch (const spec::DatasetError& e) {
    throw InputError(std::string("[data] ") + e.what());
  }
  return prepared;
}

std::int32_t largest_id(const std::vector<TokenDocument>& documents) {
  std::int32_t most = 0;
  for (const auto& document : documents) {
    most = std::max({most, *std::max_element(document.prompt.begin(), document.prompt.end()),
                     *std::max_element(document.completion.begin(), document.completion.end())});
  }
  return most;
}

}  // namespace

PreparedDataset prepare_bytes(const PrepareRequest& request) {
  const auto append = [&](spec::FlatTokensWriter& writer, PreparedDataset& prepared) {
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
  };
  return write_dataset({.dataset = request.out, .max_token_id = kByteVocabulary - 1}, append);
}

PreparedDataset prepare_token_lines(const PrepareRequest& request) {
  std::vector<TokenDocument> documents;  // all, as the largest id is told before the first
  std::int64_t empty_files = 0;
  for (const auto& file : request.files) {
    auto of_file = read_token_lines(file);
    if (of_file.empty()) ++empty_files;
    documents.insert(documents.end(), std::make_move_iterator(of_file.begin()), std::make_move_iterator(of_file.end()));
  }
  if (documents.empty()) throw InputError("[data] all files are empty; a data set needs prompts and completions");
  const auto append = [&](spec::FlatTokensWriter& writer, PreparedDataset& prepared) {
    prepared.empty_files = empty_files;
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const auto split = split_of(static_cast<std::int64_t>(i), request.validation_fraction);
      writer.append(split, documents[i].prompt, documents[i].completion);
    }
  };
  return write_dataset(
      {.dataset = request.out, .max_token_id = largest_id(documents), .prompts = spec::Prompts::counted}, append);
}

}  // namespace perfbench::harness
