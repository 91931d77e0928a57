// Makes a flat-tokens data set from files: each byte a token, each file a sequence. Nothing has to be downloaded, and
// any text in any language fits a vocabulary of 256.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace perfbench::harness {

inline constexpr std::int32_t kByteVocabulary = 256;

struct PrepareRequest {
  std::filesystem::path out;
  double validation_fraction = 0.01;  // of the files, from 0 to 1
  std::vector<std::filesystem::path> files;
};

struct SplitSize {
  std::int64_t tokens = 0;
  std::int64_t sequences = 0;
};

struct PreparedDataset {
  SplitSize train;
  SplitSize validation;
  std::int64_t empty_files = 0;  // left out
};

// The same files in the same order give the same data set, byte for byte. Throws InputError.
PreparedDataset prepare_bytes(const PrepareRequest& request);

}  // namespace perfbench::harness
