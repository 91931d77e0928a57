// Makes flat-tokens data sets from files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace perfbench::harness {

struct PrepareRequest {
  std::filesystem::path out;
  double validation_fraction = 0.01;  // of the files or documents, from 0 to 1
  std::vector<std::filesystem::path> files;
};

struct SplitSize {
  std::int64_t tokens = 0;
  std::int64_t sequences = 0;
};

struct PreparedDataset {
  SplitSize train;
  SplitSize validation;
  std::int64_t vocab_size = 0;   // what a model needs at least
  std::int64_t empty_files = 0;  // left out
};

// Both: the same files in the same order give the same data set, byte for byte. Throw InputError.

// Each byte a token, each file a sequence. Nothing has to be downloaded, and any text in any language fits a vocabulary
// of 256.
PreparedDataset prepare_bytes(const PrepareRequest& request);
// Prompts and completions (workloads/datasets/instruction_tokens.h) from files of token_lines.h.
PreparedDataset prepare_token_lines(const PrepareRequest& request);

}  // namespace perfbench::harness
