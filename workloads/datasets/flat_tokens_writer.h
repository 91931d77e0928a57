// Writes a flat-tokens data set, sequence by sequence.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "workloads/datasets/flat_tokens.h"

namespace perfbench::spec {

enum class Split { train, validation };
// counted: of each sequence how long its prompt is (instruction_tokens.h). of_questions: and which question it may be
// the answer to.
enum class Prompts { none, counted, of_questions };

struct FlatTokensOptions {
  std::filesystem::path dataset;             // must not exist yet
  std::optional<std::int32_t> max_token_id;  // without: the largest that is written
  std::int64_t chunk_elements = std::int64_t{1} << 16;
  Prompts prompts = Prompts::none;
};

// The data set appears under its name when it is whole: it is written beside it and renamed by finish(). Without
// finish() nothing stays. Compressed where this build has Blosc.
class FlatTokensWriter {
 public:
  // Throws DatasetError when the data set exists or cannot be written.
  explicit FlatTokensWriter(FlatTokensOptions options);
  ~FlatTokensWriter();
  FlatTokensWriter(const FlatTokensWriter&) = delete;
  FlatTokensWriter& operator=(const FlatTokensWriter&) = delete;

  // At least one id, each from 0 to max_token_id where that is given. Without prompts. Throws DatasetError.
  void append(Split split, std::span<const std::int32_t> ids);
  // With prompts: at least one id of each. Throws DatasetError.
  void append(Split split, std::span<const std::int32_t> prompt, std::span<const std::int32_t> completion);
  // With questions: at least two candidates, of which `right` is the place of one. Throws DatasetError.
  void append_question(Split split, std::span<const std::int32_t> prompt,
                       std::span<const std::vector<std::int32_t>> candidates, std::size_t right);
  void finish();

  std::int64_t tokens(Split split) const { return arrays(split).encoded.size(); }
  std::int64_t sequences(Split split) const { return arrays(split).starts.size(); }
  // The one given, or the largest so far.
  std::int32_t max_token_id() const { return options_.max_token_id.value_or(largest_); }

 private:
  struct Arrays {
    Arrays(const std::filesystem::path& folder, const FlatTokensOptions& options);
    void finish(std::int32_t max_token_id);

    std::filesystem::path folder;
    ZarrWriter<std::uint32_t> encoded;
    ZarrWriter<std::uint64_t> starts;
    std::optional<ZarrWriter<std::uint32_t>> prompts;
    std::optional<ZarrWriter<std::uint32_t>> candidates;
    std::uint32_t questions = 0;
  };
  const Arrays& arrays(Split split) const { return split == Split::train ? train_ : validation_; }
  void write(Arrays& to, std::span<const std::int32_t> ids);
  void write(Arrays& to, std::span<const std::int32_t> prompt, std::span<const std::int32_t> completion);

  FlatTokensOptions options_;
  std::int32_t largest_ = 0;
  std::filesystem::path beside_;
  Arrays train_;
  Arrays validation_;
};

}  // namespace perfbench::spec
