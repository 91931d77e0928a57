// Makes data sets of format flat-tokens from files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

enum class DataFormat {
  text,     // each file is a document
  jsonl,    // each line is a document (document_lines.h), all of the same kind
  lambada,  // see document_lines.h; all of it is for validation
  boolq,
};

struct PrepareRequest {
  std::filesystem::path out;
  double validation_fraction = 0.01;  // share of the documents, from 0 to 1; for text and jsonl
  DataFormat format = DataFormat::text;
  std::filesystem::path tokenizer;  // a SentencePiece model; empty: each byte is a token
  std::vector<std::filesystem::path> files;
  // Called after each document with the number of bytes of the files that were read so far.
  std::function<void(std::int64_t bytes)> progress = [](std::int64_t) {};
};

struct SplitSize {
  std::int64_t tokens = 0;
  std::int64_t sequences = 0;
};

struct PreparedDataset {
  SplitSize train;
  SplitSize validation;
  std::int64_t vocab_size = 0;  // the smallest vocabulary of a model for it
  std::int64_t empty = 0;       // files and texts without a token, which are left out
  bool prompted = false;        // see instruction_tokens.h
  bool evaluates = false;       // for task eval
};

// The same files in the same order give the same data set, byte for byte. Throws InputError.
PreparedDataset prepare_dataset(const PrepareRequest& request);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::DataFormat> {
  using F = perfbench::harness::DataFormat;
  static constexpr std::array kNames{std::pair{F::text, "text"}, std::pair{F::jsonl, "jsonl"},
                                     std::pair{F::lambada, "lambada"}, std::pair{F::boolq, "boolq"}};
};
