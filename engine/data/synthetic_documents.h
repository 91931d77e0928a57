// Synthetic tokens cut into documents: a prompt, its completion, and padding behind; or several documents in a row.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/data/token_source.h"

namespace perfbench::engine {

// A sequence's document: how many of its tokens are the prompt, and how many there are, at most seq_len + 1.
struct DocumentOfRow {
  std::int64_t prompt = 0;
  std::int64_t tokens = 0;
};
using DocumentRule = std::function<DocumentOfRow(std::int64_t sequence)>;

// At least one token of each, drawn by the sequence from RngStream(data.seed, "documents"): bits(2*s) says how long the
// prompt is, bits(2*s + 1) how long its completion.
DocumentRule drawn_documents(const spec::RunSpec& run);

// Tokens are those of make_synthetic_tokens; `padding` stands behind them. Targets are where a prompt is completed.
std::unique_ptr<TokenSource> make_synthetic_documents(const spec::RunSpec& run, DocumentRule rule,
                                                      std::int32_t padding = 0);

// Of a row, the tokens of its documents one behind the other.
using PackingRule = std::function<std::vector<std::int64_t>(std::int64_t sequence)>;

// Up to half a row each until one does not fit, drawn by the row from RngStream(data.seed, "packed_documents"): the
// k-th of row s by bits(s*seq_len + k).
PackingRule drawn_packing(const spec::RunSpec& run);

// Of a document every token but the last has a target.
std::unique_ptr<TokenSource> make_packed_documents(const spec::RunSpec& run, PackingRule rule,
                                                   std::int32_t padding = 0);

}  // namespace perfbench::engine
