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
}

// All of them before the first is used: a run should not end at the thousandth step for what is known before it.
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
