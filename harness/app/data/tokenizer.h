// Converts text to the tokens of a data set.
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
  // Tokens are from 0 to vocabulary() - 1; the vocabulary has at most 2^31.
  virtual std::int64_t vocabulary() const = 0;
  // The tokens of the text, without the two markers below. May be called from several threads at once. Throws
  // SpecError.
  virtual std::vector<std::int32_t> tokens_of(std::string_view text) const = 0;
  // The markers at the begin and end of a document, if the vocabulary has them.
  virtual std::optional<std::int32_t> begin() const = 0;
  virtual std::optional<std::int32_t> end() const = 0;
};

// Each byte is a token. Needs no download, and any text in any language fits a vocabulary of 256.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// Uses a SentencePiece model (Kudo, Richardson, "SentencePiece", arXiv:1808.06226). Throws InputError for a file that
// is not a model, and in builds without the library.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const std::filesystem::path& model);

}  // namespace perfbench::harness
