// Data sets in the flat-tokens format of seqax: the tokens of all sequences one behind the other, without padding, and
// the place where each sequence begins.
//
//   DIR/.zgroup
//   DIR/train/.zgroup, .zattrs {"max_token_id": int32}
//   DIR/train/encoded_tokens/   u32[tokens], token*2 + 1 at the start of a sequence, token*2 elsewhere
//   DIR/train/seq_starts/       u64[sequences + 1], rising, the last one is the number of tokens
//   DIR/validation/...          the same
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "workloads/datasets/zarr_array.h"

namespace perfbench::spec {

inline constexpr std::string_view kTrainSplit = "train";
inline constexpr std::string_view kValidationSplit = "validation";

constexpr std::uint32_t encode_token(std::int32_t id) {
  return static_cast<std::uint32_t>(id) * 2;
}
constexpr std::uint32_t encode_first_token(std::int32_t id) {
  return encode_token(id) + 1;
}
constexpr std::int32_t token_of(std::uint32_t encoded) {
  return static_cast<std::int32_t>(encoded >> 1);
}
constexpr bool starts_sequence(std::uint32_t encoded) {
  return (encoded & 1) != 0;
}

// One split, read in pieces. One thread at a time may use it.
class FlatTokens {
 public:
  // Throws DatasetError if it is not a flat-tokens array.
  FlatTokens(const std::filesystem::path& dataset, std::string_view split);

  std::int64_t tokens() const { return encoded_.size(); }
  std::int64_t sequences() const { return starts_.size() - 1; }
  std::int32_t max_token_id() const { return max_token_id_; }

  // encoded_tokens[begin, begin + out.size()), no id above max_token_id. Throws DatasetError.
  void read(std::int64_t begin, std::span<std::uint32_t> out);
  // The ids of one sequence, or its first `most`. Throws DatasetError.
  std::vector<std::int32_t> sequence(std::int64_t index, std::int64_t most = std::numeric_limits<std::int64_t>::max());
  // seq_starts[begin, begin + out.size()), of sequences() + 1. Throws DatasetError.
  void read_starts(std::int64_t begin, std::span<std::uint64_t> out) { starts_.read(begin, out); }

 private:
  std::filesystem::path folder_;
  std::int32_t max_token_id_ = 0;
  ZarrReader<std::uint32_t> encoded_;
  ZarrReader<std::uint64_t> starts_;
};

}  // namespace perfbench::spec
