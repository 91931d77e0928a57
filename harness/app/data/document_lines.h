// Documents in files of JSON lines. {"text": "..."} is one that is learnt whole; {"prompt": ..., "completion": ...} one
// of which the completion is learnt, both of them texts or both lists of the ids that a tokenizer has made. Other keys
// are left alone.
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
  std::vector<std::int32_t> prompt;  // of those that are prompted
  std::vector<std::int32_t> ids;     // what is learnt; of a text without tokens none
};

// Between the tokens for a document's begin and its end; of a text without tokens none.
std::vector<std::int32_t> whole_document(const Tokenizer& tokenizer, std::string_view text);

// Ids are from 0 to 2147483647; a prompt and its completion have at least one each. Throws SpecError.
Document document_of(const nlohmann::json& line, const Tokenizer& tokenizer);

// Evaluation data sets in the formats that they are published in, JSON lines. Keys that are not named are left alone.
//
// LAMBADA (Paperno et al., "The LAMBADA dataset", arXiv:1606.06031): {"text": "..."}. The last word, with the space
// before it, completes the rest.
//
// BoolQ (Clark et al., "BoolQ", arXiv:1905.10044): {"question": "...", "passage": "...", "answer": true}. The prompt is
// that of the task boolq (version 2.0) of EleutherAI's lm-evaluation-harness: the passage, a line "Question: " with the
// question and a question mark, a line "Answer:"; the candidates are " no" and " yes".
// One completion, or the candidates for one question, of which `right` is the place of one.
struct EvaluationItem {
  std::vector<std::int32_t> prompt;
  std::vector<std::vector<std::int32_t>> completions;
  std::size_t right = 0;
};

// A prompt and its completion are made into tokens together: the prompt has the leading ones that it shares with all
// that may follow it. A document's begin stands before it where the tokenizer has a token for that. Throw SpecError.
EvaluationItem lambada_item(const nlohmann::json& line, const Tokenizer& tokenizer);
EvaluationItem boolq_item(const nlohmann::json& line, const Tokenizer& tokenizer);

}  // namespace perfbench::harness
