// Documents in files of JSON lines. {"text": "..."} is one that is learnt whole; {"prompt": ..., "completion": ...} one
// of which the completion is learnt, both of them texts or both lists of the ids that a tokenizer has made. Other keys
// are left alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "harness/data/tokenizer.h"

namespace perfbench::harness {

enum class DocumentKind { text, prompted_text, prompted_ids };

struct Document {
  DocumentKind kind = DocumentKind::text;
  std::int64_t read_bytes = 0;       // of its line or file
  std::vector<std::int32_t> prompt;  // of those that are prompted
  std::vector<std::int32_t> ids;     // what is learnt; of a text without tokens none
};

// Between the tokens for a document's begin and its end; of a text without tokens none.
std::vector<std::int32_t> whole_document(const Tokenizer& tokenizer, std::string_view text);

// In their order; empty lines are none. Ids are from 0 to 2147483647; a prompt and its completion have at least one
// each. Throws InputError with file:line, also for a SpecError that `take` throws.
void for_each_document(const std::filesystem::path& file, const Tokenizer& tokenizer,
                       const std::function<void(const Document&)>& take);

}  // namespace perfbench::harness
