// From text to the tokens of a data set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace perfbench::harness {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Tokens are 0 to vocabulary() - 1, at most 2^31.
  virtual std::int64_t vocabulary() const = 0;
  // Of a text alone: without the two below. Threads may ask at the same time. Throws SpecError.
  virtual std::vector<std::int32_t> tokens_of(std::string_view text) const = 0;
  // What stands before and behind a document, where the vocabulary has a token for it.
  virtual std::optional<std::int32_t> begin() const = 0;
  virtual std::optional<std::int32_t> end() const = 0;
};

// Each byte a token. Nothing has to be downloaded, and any text in any language fits a vocabulary of 256.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// By a model of SentencePiece (Kudo, Richardson, "SentencePiece", arXiv:1808.06226). Throws InputError for a file that
// is none, and in builds without the library.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const std::filesystem::path& model);

}  // namespace perfbench::harness
