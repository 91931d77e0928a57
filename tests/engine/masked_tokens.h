// Synthetic tokens cut into documents: a prompt, its completion, and padding behind.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "engine/core/no_target.h"
#include "engine/core/rng.h"
#include "engine/data/token_source.h"

namespace perfbench::engine {

// A sequence's document: how many of its tokens are the prompt, and how many there are.
struct DocumentOfRow {
  std::int64_t prompt = 0;
  std::int64_t tokens = 0;
};
using DocumentRule = std::function<DocumentOfRow(std::int64_t sequence)>;

// Drawn by the sequence: at least one token of each, at most seq_len + 1 together (tests/golden/streams.py).
inline DocumentRule drawn_documents(const spec::RunSpec& run) {
  const RngStream stream(static_cast<std::uint64_t>(run.data.seed), "documents");
  const std::int64_t length = run.seq_len;
  return [stream, length](std::int64_t sequence) {
    const auto below = [&](std::int64_t which, std::int64_t limit) {
      return static_cast<std::int64_t>(stream.bits(static_cast<std::uint64_t>(2 * sequence + which)) %
                                       static_cast<std::uint64_t>(limit));
    };
    const std::int64_t prompt = 1 + below(0, length);
    return DocumentOfRow{prompt, prompt + 1 + below(1, length + 1 - prompt)};
  };
}

class MaskedTokens final : public TokenSource {
 public:
  MaskedTokens(const spec::RunSpec& run, DocumentRule rule, std::int32_t padding = 0)
      : run_(run), synthetic_(make_synthetic_tokens(run)), rule_(std::move(rule)), padding_(padding) {}

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    synthetic_->read(place, tokens, targets);
    TokenCounts counts;
    for (std::int64_t b = 0; b < run_.microbatch(); ++b) {
      const auto document = rule_(first_sequence(run_, place) + b);
      for (std::int64_t t = 0; t < run_.seq_len; ++t) {
        const auto at = static_cast<std::size_t>(b * run_.seq_len + t);
        const bool is_padding = t >= document.tokens;
        const bool has_target = t + 1 >= document.prompt && t + 1 < document.tokens;
        if (is_padding) tokens[at] = padding_;
        if (!has_target) targets[at] = kNoTarget;
        counts.padding += is_padding ? 1 : 0;
        counts.targets += has_target ? 1 : 0;
      }
    }
    return counts;
  }

 private:
  const spec::RunSpec& run_;
  std::unique_ptr<TokenSource> synthetic_;
  DocumentRule rule_;
  std::int32_t padding_;
};

// The run's own data; of a task that needs documents drawn ones, where the run names synthetic data.
inline std::unique_ptr<TokenSource> tokens_of(const spec::RunSpec& run) {
  if (!run.counts_targets() || run.data.kind != spec::DataKind::synthetic) return make_token_source(run);
  return std::make_unique<MaskedTokens>(run, drawn_documents(run));
}

}  // namespace perfbench::engine
