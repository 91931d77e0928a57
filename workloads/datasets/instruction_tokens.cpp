#include "workloads/datasets/instruction_tokens.h"

#include <algorithm>
#include <array>
#include <string>

#include "workloads/datasets/dataset_error.h"

namespace perfbench::spec {

bool has_prompts(const std::filesystem::path& dataset, std::string_view split) {
  std::error_code ignored;
  return std::filesystem::exists(dataset / split / kPromptArray, ignored);
}

InstructionTokens::InstructionTokens(const std::filesystem::path& dataset, std::string_view split)
    : prompt_array_(dataset / split / kPromptArray), tokens_(dataset, split), prompts_(prompt_array_) {
  if (prompts_.size() != documents()) {
    throw DatasetError(prompt_array_, "has " + std::to_string(prompts_.size()) + " elements, but there are " +
                                          std::to_string(documents()) + " documents");
  }
  check_documents();
  std::error_code ignored;
  const auto candidates = dataset / split / kCandidateArray;
  if (std::filesystem::exists(candidates, ignored)) read_candidates(candidates);
}

Candidate InstructionTokens::candidate(std::int64_t index) const {
  const auto encoded = candidates_.at(static_cast<std::size_t>(index));
  return {.question = static_cast<std::int64_t>(encoded >> 1), .right = (encoded & 1) != 0};
}

void InstructionTokens::read_candidates(const std::filesystem::path& array) {
  ZarrReader<std::uint32_t> reader(array);
  if (reader.size() != documents()) {
    throw DatasetError(array, "has " + std::to_string(reader.size()) + " elements, but there are " +
                                  std::to_string(documents()) + " documents");
  }
  candidates_.resize(static_cast<std::size_t>(documents()));
  reader.read(0, candidates_);
  std::int64_t right = 0;  // of the current question
  const auto require_one = [&] {
    if (questions_ == 0 || right == 1) return;
    throw DatasetError(array, "question " + std::to_string(questions_ - 1) + " has " + std::to_string(right) +
                                  " right candidates; it needs exactly one");
  };
  for (std::int64_t d = 0; d < documents(); ++d) {
    const auto [question, is_right] = candidate(d);
    if (question == questions_) {
      require_one();
      ++questions_;
      right = 0;
    } else if (question != questions_ - 1) {
      throw DatasetError(array, "document " + std::to_string(d) + " is of question " + std::to_string(question) +
                                    ", but its predecessor belongs to another one; questions must be in order, from 0");
    }
    right += is_right ? 1 : 0;
  }
  require_one();
}

// Checks all documents before the first one is used: a run must not end at the thousandth step because of an error that
// could be found before it.
void InstructionTokens::check_documents() {
  constexpr std::int64_t kAtOnce = 1 << 16;
  std::vector<std::uint64_t> starts;
  std::vector<std::uint32_t> prompts;
  for (std::int64_t first = 0; first < documents(); first += kAtOnce) {
    const auto count = static_cast<std::size_t>(std::min(kAtOnce, documents() - first));
    starts.resize(count + 1);
    prompts.resize(count);
    tokens_.read_starts(first, starts);
    prompts_.read(first, prompts);
    for (std::size_t i = 0; i < count; ++i) {
      const auto document = first + static_cast<std::int64_t>(i);
      if (starts[i + 1] < starts[i]) {
        throw DatasetError(prompt_array_,
                           "document " + std::to_string(document) + " ends before it begins, by seq_starts");
      }
      check(document, starts[i + 1] - starts[i], prompts[i]);
      prompt_tokens_ += prompts[i];
    }
  }
}

void InstructionTokens::check(std::int64_t document, std::uint64_t tokens, std::uint64_t prompt) const {
  if (prompt >= 1 && prompt < tokens) return;
  const auto wrong = [&](const char* what) {
    throw DatasetError(prompt_array_, "document " + std::to_string(document) + " has " + std::to_string(tokens) +
                                          " tokens and a prompt of " + std::to_string(prompt) + ": " + what);
  };
  if (prompt == 0) wrong("the first token of a completion follows one of a prompt");
  if (prompt == tokens) wrong("there is no completion to train on");
  wrong("the prompt is longer than the document");
}

InstructionTokens::Document InstructionTokens::document(std::int64_t index, std::int64_t most) {
  std::array<std::uint32_t, 1> prompt{};
  prompts_.read(index, prompt);
  return {.ids = tokens_.sequence(index, most), .prompt_tokens = prompt[0]};
}

}  // namespace perfbench::spec
