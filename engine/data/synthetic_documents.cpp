#include "engine/data/synthetic_documents.h"

#include <algorithm>
#include <utility>

#include "engine/core/no_target.h"
#include "engine/core/rng.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

class SyntheticDocuments final : public TokenSource {
 public:
  SyntheticDocuments(const spec::RunSpec& run, DocumentRule rule, std::int32_t padding)
      : run_(run), tokens_(make_synthetic_tokens(run)), rule_(std::move(rule)), padding_(padding) {}

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    tokens_->read(place, tokens, targets);
    TokenCounts counts;
    for (std::int64_t b = 0; b < run_.microbatch(); ++b) {
      const auto document = rule_(first_sequence(run_, place) + b);
      for (std::int64_t t = 0; t < run_.seq_len; ++t) {
        const auto at = static_cast<std::size_t>(b * run_.seq_len + t);
        const bool is_padding = t >= document.tokens;
        const bool completes = t + 1 >= document.prompt && t + 1 < document.tokens;
        if (is_padding) tokens[at] = padding_;
        if (!completes) targets[at] = kNoTarget;
        counts.padding += is_padding ? 1 : 0;
        counts.targets += completes ? 1 : 0;
      }
    }
    return counts;
  }

 private:
  const spec::RunSpec& run_;
  std::unique_ptr<TokenSource> tokens_;
  DocumentRule rule_;
  std::int32_t padding_;
};

class PackedDocuments final : public TokenSource {
 public:
  PackedDocuments(const spec::RunSpec& run, PackingRule rule, std::int32_t padding = 0)
      : run_(run), synthetic_(make_synthetic_tokens(run)), rule_(std::move(rule)), padding_(padding) {}

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    synthetic_->read(place, tokens, targets);
    TokenCounts counts;
    for_rows(place, [&](std::size_t at, const std::vector<std::int64_t>& documents) {
      const std::size_t end = at + static_cast<std::size_t>(run_.seq_len);
      for (const auto length : documents) {
        at += static_cast<std::size_t>(length);
        targets[at - 1] = kNoTarget;
        counts.targets += length - 1;
      }
      counts.padding += static_cast<std::int64_t>(end - at);
      for (; at < end; ++at) {
        tokens[at] = padding_;
        targets[at] = kNoTarget;
      }
    });
    return counts;
  }

  void read_document_starts(const BatchPlace& place, std::span<std::int32_t> first) override {
    for_rows(place, [&](std::size_t at, const std::vector<std::int64_t>& documents) {
      std::int32_t begin = 0;
      for (const auto length : documents) {
        for (std::int64_t i = 0; i < length; ++i) first[at++] = begin;
        begin += static_cast<std::int32_t>(length);
      }
      for (; begin < run_.seq_len; ++begin) first[at++] = begin;
    });
  }

 private:
  // Calls f(where the row begins in the batch, its documents).
  template <class F>
  void for_rows(const BatchPlace& place, F&& f) const {
    for (std::int64_t b = 0; b < run_.microbatch(); ++b) {
      f(static_cast<std::size_t>(b * run_.seq_len), rule_(first_sequence(run_, place) + b));
    }
  }

  const spec::RunSpec& run_;
  std::unique_ptr<TokenSource> synthetic_;
  PackingRule rule_;
  std::int32_t padding_;
};

}  // namespace

DocumentRule drawn_documents(const spec::RunSpec& run) {
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

std::unique_ptr<TokenSource> make_synthetic_documents(const spec::RunSpec& run, DocumentRule rule,
                                                      std::int32_t padding) {
  return std::make_unique<SyntheticDocuments>(run, std::move(rule), padding);
}

PackingRule drawn_packing(const spec::RunSpec& run) {
  const RngStream stream(static_cast<std::uint64_t>(run.data.seed), "packed_documents");
  const std::int64_t length = run.seq_len;
  return [stream, length](std::int64_t sequence) {
    const auto longest = static_cast<std::uint64_t>(std::max<std::int64_t>(1, length / 2));
    std::vector<std::int64_t> documents;
    for (std::int64_t begin = 0, draw = sequence * length;; ++draw) {
      const auto tokens = 1 + static_cast<std::int64_t>(stream.bits(static_cast<std::uint64_t>(draw)) % longest);
      if (begin + tokens > length) return documents;
      documents.push_back(tokens);
      begin += tokens;
    }
  };
}

std::unique_ptr<TokenSource> make_packed_documents(const spec::RunSpec& run, PackingRule rule, std::int32_t padding) {
  return std::make_unique<PackedDocuments>(run, std::move(rule), padding);
}

}  // namespace perfbench::engine
