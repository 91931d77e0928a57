// Documents in files of JSON lines. {"text": "..."} is a document on which the model trains as a whole. In {"prompt":
// ..., "completion": ...} it trains on the completion; both values are texts, or both are lists of token ids. Other
// keys are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "harness/app/data/tokenizer.h"

namespace perfbench::harness {

enum class DocumentKind { text, prompted_text, prompted_ids };

struct Document {
  DocumentKind kind = DocumentKind::text;
  std::vector<std::int32_t> prompt;  // only for prompted documents
  std::vector<std::int32_t> ids;     // the tokens to train on; empty for a text without tokens
};

// The tokens between the markers of a document's begin and end; empty for a text without tokens.
std::vector<std::int32_t> whole_document(const Tokenizer& tokenizer, std::string_view text);

// Ids are from 0 to 2147483647; a prompt and its completion have at least one token each. Throws SpecError.
Document document_of(const nlohmann::json& line, const Tokenizer& tokenizer);

// Evaluation data sets in their published formats, JSON lines. Other keys are ignored.
//
// LAMBADA (Paperno et al., "The LAMBADA dataset", arXiv:1606.06031): {"text": "..."}. The last word, with the space
// before it, completes the rest.
//
// BoolQ (Clark et al., "BoolQ", arXiv:1905.10044): {"question": "...", "passage": "...", "answer": true}. The prompt is
// that of the task boolq (version 2.0) of EleutherAI's lm-evaluation-harness: the passage, a line "Question: " with the
// question and a question mark, and a line "Answer:". The candidates are " no" and " yes".
//
// An item has one completion, or the candidates for one question, with the index of the right one in `right`.
struct EvaluationItem {
  std::vector<std::int32_t> prompt;
  std::vector<std::vector<std::int32_t>> completions;
  std::size_t right = 0;
};

// A prompt and its completion are tokenized together: the prompt consists of the leading tokens that all its candidates
// have in common. The marker of a document's begin comes first if the tokenizer has one. Throw SpecError.
EvaluationItem lambada_item(const nlohmann::json& line, const Tokenizer& tokenizer);
EvaluationItem boolq_item(const nlohmann::json& line, const Tokenizer& tokenizer);

}  // namespace perfbench::harness
