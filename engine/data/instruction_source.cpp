// Fine-tuning on prompts and completions (workloads/datasets/instruction_tokens.h).
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "engine/data/dataset_input.h"
#include "engine/data/document_row.h"
#include "engine/data/packed_rows.h"
#include "engine/data/token_source.h"
#include "engine/data/window_order.h"
#include "workloads/datasets/instruction_tokens.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

class InstructionSource final : public TokenSource {
 public:
  explicit InstructionSource(const spec::RunSpec& run)
      : run_(run), data_(from_dataset([&] { return spec::InstructionTokens(run.data.path, run.data.split); })) {
    if (data_.documents() == 0) throw BadInput(where() + ": has no document");
    if (data_.max_token_id() >= run.model.vocab_size) refuse_tokens_beyond_vocabulary();
    if (run.packs_documents()) packed_.emplace(from_dataset([&] { return pieces(); }), run.seq_len);
  }

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    TokenCounts counts;
    for_rows(place, [&](std::int64_t row, std::size_t at, std::size_t length) {
      const auto row_tokens = tokens.subspan(at, length);
      const auto row_targets = targets.subspan(at, length);
      add(counts,
          packed_ ? fill_packed(row, row_tokens, row_targets) : fill_row(document(row), row_tokens, row_targets));
    });
    return counts;
  }

  void read_document_starts(const BatchPlace& place, std::span<std::int32_t> first) override {
    for_rows(place, [&](std::int64_t row, std::size_t at, std::size_t length) {
      packed_->document_starts(row, first.subspan(at, length));
    });
  }

 private:
  // Calls f(row of the epoch, where it begins in the batch, its length).
  template <class F>
  void for_rows(const BatchPlace& place, F&& f) const {
    const std::int64_t rows = packed_ ? packed_->rows() : data_.documents();
    const auto length = static_cast<std::size_t>(run_.seq_len);
    const std::int64_t first = first_sequence(run_, place);
    for (std::int64_t b = 0; b < run_.microbatch(); ++b) {
      f(window_of(first + b, rows, static_cast<std::uint64_t>(run_.data.seed)), static_cast<std::size_t>(b) * length,
        length);
    }
  }

  // One token more than a row holds is read: that one is a target and not an input.
  spec::InstructionTokens::Document document(std::int64_t index) {
    return from_dataset([&] { return data_.document(index, run_.seq_len + 1); });
  }

  // All documents in a shuffled order: neighbours in the data set need not share rows.
  std::vector<PackedRows::Piece> pieces() {
    const std::int64_t documents = data_.documents();
    std::vector<std::uint64_t> starts(static_cast<std::size_t>(documents) + 1);
    data_.read_starts(0, starts);
    std::vector<PackedRows::Piece> pieces;
    for (std::int64_t i = 0; i < documents; ++i) {
      const auto index = window_of(i, documents, static_cast<std::uint64_t>(run_.data.seed));
      const auto at = static_cast<std::size_t>(index);
      const auto tokens = static_cast<std::int64_t>(starts[at + 1] - starts[at]);
      pieces.push_back({.origin = index, .tokens = std::min(run_.seq_len, tokens)});
    }
    return pieces;
  }

  TokenCounts fill_packed(std::int64_t row, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) {
    TokenCounts counts;
    std::size_t at = 0;
    for (const auto& piece : packed_->row(row)) {
      const auto length = static_cast<std::size_t>(piece.tokens);
      add(counts, fill_row(document(piece.origin), tokens.subspan(at, length), targets.subspan(at, length)));
      at += length;
    }
    add(counts, fill_row({}, tokens.subspan(at), targets.subspan(at)));
    return counts;
  }

  std::string where() const { return run_.data.path + "/" + run_.data.split; }

  // The data set says that it may have such tokens; the documents show whether it does.
  void refuse_tokens_beyond_vocabulary() {
    for (std::int64_t d = 0; d < data_.documents(); ++d) {
      const auto ids = from_dataset([&] { return data_.document(d).ids; });
      const auto most = *std::max_element(ids.begin(), ids.end());
      if (most < run_.model.vocab_size) continue;
      throw BadInput(where() + ": document " + std::to_string(d) + " has token " + std::to_string(most) +
                     ", but the vocabulary of " + run_.model.name + " has " + std::to_string(run_.model.vocab_size) +
                     " tokens; set model.vocab_size to at least " +
                     std::to_string(std::int64_t{data_.max_token_id()} + 1));
    }
  }

  const spec::RunSpec& run_;
  spec::InstructionTokens data_;
  std::optional<PackedRows> packed_;
};

}  // namespace

std::unique_ptr<TokenSource> make_instruction_tokens(const spec::RunSpec& run) {
  return std::make_unique<InstructionSource>(run);
}

}  // namespace perfbench::engine
