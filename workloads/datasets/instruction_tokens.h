// Prompts and their completions: a flat-tokens data set (flat_tokens.h) whose sequences are documents, with one more
// array in each split.
//
//   DIR/train/prompt_tokens/    u32[sequences], how many of a document's first tokens are its prompt: from 1 on, and
//                               fewer than the document has
//
// In a data set of choices, several consecutive documents are the candidates for one question: they share a prompt, and
// one of them is right.
//
//   DIR/train/candidates/       u32[sequences], question*2 + 1 of the right candidate, question*2 of the others;
//                               questions count from 0
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "workloads/datasets/flat_tokens.h"
#include "workloads/datasets/zarr_array.h"

namespace perfbench::spec {

inline constexpr std::string_view kPromptArray = "prompt_tokens";
inline constexpr std::string_view kCandidateArray = "candidates";

// Whether the split has prompts, valid or not.
bool has_prompts(const std::filesystem::path& dataset, std::string_view split);

struct Candidate {
  std::int64_t question = 0;
  bool right = false;
};

// One split. One thread at a time may use it.
class InstructionTokens {
 public:
  // Throws DatasetError if it is not such a data set, if a document has no prompt or no completion, or if a question
  // does not have exactly one right candidate. The message gives its number, from 0.
  InstructionTokens(const std::filesystem::path& dataset, std::string_view split);

  struct Document {
    std::vector<std::int32_t> ids;
    std::int64_t prompt_tokens = 0;
  };
  // A document, or its first `most` ids; the prompt may be longer than that. Throws DatasetError.
  Document document(std::int64_t index, std::int64_t most = std::numeric_limits<std::int64_t>::max());

  // As FlatTokens::read_starts: a document's tokens reach from its start to that of the next one.
  void read_starts(std::int64_t begin, std::span<std::uint64_t> out) { tokens_.read_starts(begin, out); }

  std::int64_t documents() const { return tokens_.sequences(); }
  // 0: it is not a data set of choices.
  std::int64_t questions() const { return questions_; }
  // The question and role of a document, if there are questions.
  Candidate candidate(std::int64_t index) const;
  std::int32_t max_token_id() const { return tokens_.max_token_id(); }
  std::int64_t prompt_tokens() const { return prompt_tokens_; }  // of all documents

 private:
  void check_documents();
  void check(std::int64_t document, std::uint64_t tokens, std::uint64_t prompt) const;
  void read_candidates(const std::filesystem::path& array);

  std::filesystem::path prompt_array_;
  FlatTokens tokens_;
  ZarrReader<std::uint32_t> prompts_;
  std::int64_t prompt_tokens_ = 0;
  std::vector<std::uint32_t> candidates_;  // in their stored encoding
  std::int64_t questions_ = 0;
};

}  // namespace perfbench::spec
