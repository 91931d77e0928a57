#include "workloads/datasets/flat_tokens_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

#include "workloads/datasets/blosc_codec.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/instruction_tokens.h"
#include "workloads/spec/process_token.h"

namespace perfbench::spec {
namespace {

namespace fs = std::filesystem;

ArrayLayout layout(std::int64_t chunk_elements) {
  return {.chunk_elements = chunk_elements,
          .compressor = blosc_support() == BloscSupport::found ? ChunkCompressor::blosc : ChunkCompressor::none,
          .filter = ChunkFilter::delta};
}

// Without a trailing slash, which would put the temporary folder inside the data set.
fs::path named(const fs::path& dataset) {
  return dataset.has_filename() ? dataset : dataset.parent_path();
}

// Beside the data set, so that a rename moves it.
fs::path fresh_folder(const fs::path& dataset) {
  std::error_code error;
  if (dataset.empty()) throw DatasetError(dataset, "a data set needs a folder name");
  if (fs::exists(fs::symlink_status(dataset, error))) {
    throw DatasetError(dataset, "already exists; remove it or use another folder");
  }
  auto beside = dataset;
  beside += ".writing-" + process_token();
  fs::remove_all(beside, error);
  write_group(beside);
  return beside;
}

// Syncs the whole file system once, which is much quicker than syncing files one by one.
void flush_to_disk(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int failed = descriptor < 0 ? -1 : ::syncfs(descriptor);
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (failed != 0) throw DatasetError(folder, std::string("cannot be flushed to the disk: ") + std::strerror(reason));
}

}  // namespace

FlatTokensWriter::Arrays::Arrays(const fs::path& split_folder, const FlatTokensOptions& options)
    : folder(split_folder),
      encoded(folder / "encoded_tokens", layout(options.chunk_elements)),
      starts(folder / "seq_starts", layout(options.chunk_elements)) {
  if (options.prompts == Prompts::none) return;
  prompts.emplace(folder / kPromptArray, layout(options.chunk_elements));
  if (options.prompts == Prompts::counted) return;
  candidates.emplace(folder / kCandidateArray, layout(options.chunk_elements));
}

void FlatTokensWriter::Arrays::finish(std::int32_t max_token_id) {
  starts.append(static_cast<std::uint64_t>(encoded.size()));
  encoded.finish();
  starts.finish();
  if (prompts) prompts->finish();
  if (candidates) candidates->finish();
  write_group(folder);
  write_integer_attribute(folder, "max_token_id", max_token_id);
}

FlatTokensWriter::FlatTokensWriter(FlatTokensOptions options)
    : options_(std::move(options)),
      beside_(fresh_folder(named(options_.dataset))),
      train_(beside_ / kTrainSplit, options_),
      validation_(beside_ / kValidationSplit, options_) {}

FlatTokensWriter::~FlatTokensWriter() {
  std::error_code ignored;  // after finish() this name no longer exists
  fs::remove_all(beside_, ignored);
}

void FlatTokensWriter::append(Split split, std::span<const std::int32_t> ids) {
  if (options_.prompts != Prompts::none) throw DatasetError(options_.dataset, "its sequences need prompts");
  if (ids.empty()) throw DatasetError(options_.dataset, "a sequence has at least one token");
  write(split == Split::train ? train_ : validation_, ids);
}

void FlatTokensWriter::append(Split split, std::span<const std::int32_t> prompt,
                              std::span<const std::int32_t> completion) {
  if (options_.prompts != Prompts::counted) {
    throw DatasetError(options_.dataset, "its sequences have no prompts, or are answers to questions");
  }
  write(split == Split::train ? train_ : validation_, prompt, completion);
}

void FlatTokensWriter::append_question(Split split, std::span<const std::int32_t> prompt,
                                       std::span<const std::vector<std::int32_t>> candidates, std::size_t right) {
  if (options_.prompts != Prompts::of_questions) throw DatasetError(options_.dataset, "its sequences answer nothing");
  if (candidates.size() < 2 || right >= candidates.size()) {
    throw DatasetError(options_.dataset, "a question needs at least two candidates, exactly one of them right");
  }
  Arrays& to = split == Split::train ? train_ : validation_;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    write(to, prompt, candidates[i]);
    to.candidates->append(to.questions * 2 + (i == right ? 1 : 0));
  }
  ++to.questions;
}

void FlatTokensWriter::write(Arrays& to, std::span<const std::int32_t> prompt,
                             std::span<const std::int32_t> completion) {
  if (prompt.empty() || completion.empty()) {
    throw DatasetError(options_.dataset, "a prompt and its completion have at least one token each");
  }
  std::vector<std::int32_t> ids(prompt.begin(), prompt.end());
  ids.insert(ids.end(), completion.begin(), completion.end());
  write(to, ids);
  to.prompts->append(static_cast<std::uint32_t>(prompt.size()));
}

void FlatTokensWriter::write(Arrays& to, std::span<const std::int32_t> ids) {
  const std::int32_t most = options_.max_token_id.value_or(std::numeric_limits<std::int32_t>::max());
  for (const auto id : ids) {
    if (id < 0 || id > most) {
      throw DatasetError(options_.dataset,
                         "token " + std::to_string(id) + " is not from 0 to max_token_id " + std::to_string(most));
    }
    largest_ = std::max(largest_, id);
  }
  to.starts.append(static_cast<std::uint64_t>(to.encoded.size()));
  to.encoded.append(encode_first_token(ids.front()));
  for (const auto id : ids.subspan(1)) to.encoded.append(encode_token(id));
}

void FlatTokensWriter::finish() {
  train_.finish(max_token_id());
  validation_.finish(max_token_id());
  flush_to_disk(beside_);
  std::error_code error;
  fs::rename(beside_, named(options_.dataset), error);
  if (error) throw DatasetError(options_.dataset, "cannot be renamed to its final name: " + error.message());
}

}  // namespace perfbench::spec
