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
// counted: each sequence records the length of its prompt (instruction_tokens.h). of_questions: and the question that
// it may answer.
enum class Prompts { none, counted, of_questions };

struct FlatTokensOptions {
  std::filesystem::path dataset;             // must not exist yet
  std::optional<std::int32_t> max_token_id;  // absent: the largest id that is written
  std::int64_t chunk_elements = std::int64_t{1} << 16;
  Prompts prompts = Prompts::none;
};

// The data set appears under its name only when it is whole: it is written beside it and renamed by finish(). Without
// finish() nothing stays. It is compressed if this build has Blosc.
class FlatTokensWriter {
 public:
  // Throws DatasetError if the data set exists or cannot be written.
  explicit FlatTokensWriter(FlatTokensOptions options);
  ~FlatTokensWriter();
  FlatTokensWriter(const FlatTokensWriter&) = delete;
  FlatTokensWriter& operator=(const FlatTokensWriter&) = delete;

  // For data sets without prompts: at least one id, each from 0 to max_token_id if that is given. Throws DatasetError.
  void append(Split split, std::span<const std::int32_t> ids);
  // For data sets with prompts: at least one id in each. Throws DatasetError.
  void append(Split split, std::span<const std::int32_t> prompt, std::span<const std::int32_t> completion);
  // For data sets with questions: at least two candidates; `right` is the index of the right one. Throws DatasetError.
  void append_question(Split split, std::span<const std::int32_t> prompt,
                       std::span<const std::vector<std::int32_t>> candidates, std::size_t right);
  void finish();

  std::int64_t tokens(Split split) const { return arrays(split).encoded.size(); }
  std::int64_t sequences(Split split) const { return arrays(split).starts.size(); }
  // The given one, or the largest so far.
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
