// Synthetic tokens cut into documents. A row holds either a prompt, its completion and then padding, or several
// documents.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/data/token_source.h"

namespace perfbench::engine {

// The document of a sequence: the length of its prompt, and its whole length, at most seq_len + 1.
struct DocumentOfRow {
  std::int64_t prompt = 0;
  std::int64_t tokens = 0;
};
using DocumentRule = std::function<DocumentOfRow(std::int64_t sequence)>;

// Prompt and completion have at least one token each. Lengths are drawn by sequence from RngStream(data.seed,
// "documents"): bits(2*s) gives that of the prompt, bits(2*s + 1) that of the completion.
DocumentRule drawn_documents(const spec::RunSpec& run);

// The tokens are those of make_synthetic_tokens, followed by `padding`. Only the tokens of completions are targets.
std::unique_ptr<TokenSource> make_synthetic_documents(const spec::RunSpec& run, DocumentRule rule,
                                                      std::int32_t padding = 0);

// The lengths in tokens of the documents of a row, in their order.
using PackingRule = std::function<std::vector<std::int64_t>(std::int64_t sequence)>;

// Documents of up to half a row each, until the next one does not fit. Lengths are drawn by row from
// RngStream(data.seed, "packed_documents"): the k-th of row s by bits(s*seq_len + k).
PackingRule drawn_packing(const spec::RunSpec& run);

// Every token of a document but the last has a target.
std::unique_ptr<TokenSource> make_packed_documents(const spec::RunSpec& run, PackingRule rule,
                                                   std::int32_t padding = 0);

}  // namespace perfbench::engine
