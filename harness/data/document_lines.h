// Documents in files of JSON lines. {"text": "..."} is one that is learnt whole; {"prompt": ..., "completion": ...} one
// of which the completion is learnt, both of them texts or both lists of the ids that a tokenizer has made. Other keys
// are left alone.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "harness/data/tokenizer.h"

namespace perfbench::harness {

enum class DocumentKind { text, prompted_text, prompted_ids };

struct Document {
  DocumentKind kind = DocumentKind::text;
  std::vector<std::int32_t> prompt;  // of those that are prompted
  std::vector<std::int32_t> ids;     // what is learnt; of a text without tokens none
};

// Between the tokens for a document's begin and its end; of a text without tokens none.
std::vector<std::int32_t> whole_document(const Tokenizer& tokenizer, std::string_view text);

// Ids are from 0 to 2147483647; a prompt and its completion have at least one each. Throws SpecError.
Document document_of(const nlohmann::json& line, const Tokenizer& tokenizer);

}  // namespace perfbench::harness
