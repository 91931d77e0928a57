// Training from a flat-tokens data set (workloads/datasets/flat_tokens.h): window w is encoded[w*seq_len,
// (w+1)*seq_len), and every token is a target. The input is the token in front of the target, 0 where a sequence or the
// window begins: tokens in front of a window are never read. With packing the windows are whole sequences, several to a
// row; sequences longer than a row are cut into pieces.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/no_target.h"
#include "engine/data/dataset_input.h"
#include "engine/data/packed_rows.h"
#include "engine/data/token_source.h"
#include "engine/data/window_order.h"
#include "workloads/datasets/flat_tokens.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

class FlatTokensSource final : public TokenSource {
 public:
  explicit FlatTokensSource(const spec::RunSpec& run)
      : run_(run),
        data_(from_dataset([&] { return spec::FlatTokens(run.data.path, run.data.split); })),
        rows_(data_.tokens() / run.seq_len) {
    const std::string where = run.data.path + "/" + run.data.split;
    if (data_.max_token_id() >= run.model.vocab_size) {
      throw BadInput(where + ": max_token_id is " + std::to_string(data_.max_token_id()) + ", but the vocabulary of " +
                     run.model.name + " has " + std::to_string(run.model.vocab_size) +
                     " tokens; set model.vocab_size to at least " +
                     std::to_string(std::int64_t{data_.max_token_id()} + 1));
    }
    if (run.packs_documents()) {
      packed_.emplace(from_dataset([&] { return pieces(); }), run.seq_len);
      rows_ = packed_->rows();
      if (rows_ < 1) throw BadInput(where + ": has no token");
    } else if (rows_ < 1) {
      throw BadInput(where + ": has " + std::to_string(data_.tokens()) + " tokens, fewer than one window of seq_len " +
                     std::to_string(run.seq_len));
    }
  }

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    TokenCounts counts;
    for_rows(place, [&](std::int64_t row, std::size_t at, std::size_t length) {
      const auto row_tokens = tokens.subspan(at, length);
      const auto row_targets = targets.subspan(at, length);
      if (packed_) return read_packed(row, row_tokens, row_targets, counts);
      read_window(row * run_.seq_len, row_tokens, row_targets);
      counts.targets += run_.seq_len;
    });
    return counts;
  }

  void read_document_starts(const BatchPlace& place, std::span<std::int32_t> first) override {
    for_rows(place, [&](std::int64_t row, std::size_t at, std::size_t length) {
      packed_->document_starts(row, first.subspan(at, length));
    });
  }

 private:
  static std::size_t as_size(std::int64_t count) { return static_cast<std::size_t>(count); }

  // Calls f(row of the epoch, where it begins in the batch, its length).
  template <class F>
  void for_rows(const BatchPlace& place, F&& f) const {
    const std::int64_t first = first_sequence(run_, place);
    for (std::int64_t b = 0; b < run_.microbatch(); ++b) {
      f(window_of(first + b, rows_, static_cast<std::uint64_t>(run_.data.seed)), as_size(b * run_.seq_len),
        as_size(run_.seq_len));
    }
  }

  // The pieces of all sequences in a shuffled order: neighbours in the data set need not share rows.
  std::vector<PackedRows::Piece> pieces() {
    const std::int64_t sequences = data_.sequences();
    std::vector<std::uint64_t> starts(as_size(sequences + 1));
    data_.read_starts(0, starts);
    std::vector<PackedRows::Piece> pieces;
    for (std::int64_t i = 0; i < sequences; ++i) {
      const auto sequence = as_size(window_of(i, sequences, static_cast<std::uint64_t>(run_.data.seed)));
      const auto end = static_cast<std::int64_t>(starts[sequence + 1]);
      for (auto at = static_cast<std::int64_t>(starts[sequence]); at < end; at += run_.seq_len) {
        pieces.push_back({.origin = at, .tokens = std::min(run_.seq_len, end - at)});
      }
    }
    return pieces;
  }

  void read_packed(std::int64_t row, std::span<std::int32_t> tokens, std::span<std::int32_t> targets,
                   TokenCounts& counts) {
    std::size_t at = 0;
    for (const auto& piece : packed_->row(row)) {
      const auto length = as_size(piece.tokens);
      read_window(piece.origin, tokens.subspan(at, length), targets.subspan(at, length));
      at += length;
    }
    std::fill(tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens.end(), 0);
    std::fill(targets.begin() + static_cast<std::ptrdiff_t>(at), targets.end(), kNoTarget);
    counts.targets += static_cast<std::int64_t>(at);
    counts.padding += static_cast<std::int64_t>(tokens.size() - at);
  }

  void read_window(std::int64_t begin, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) {
    encoded_.resize(tokens.size());
    from_dataset([&] { data_.read(begin, encoded_); });
    std::int32_t before = 0;
    for (std::size_t t = 0; t < encoded_.size(); ++t) {
      tokens[t] = spec::starts_sequence(encoded_[t]) ? 0 : before;
      targets[t] = spec::token_of(encoded_[t]);
      before = targets[t];
    }
  }

  const spec::RunSpec& run_;
  spec::FlatTokens data_;
  std::int64_t rows_;  // rows in an epoch
  std::optional<PackedRows> packed_;
  std::vector<std::uint32_t> encoded_;  // the tokens of one window
};

}  // namespace

std::unique_ptr<TokenSource> make_flat_tokens(const spec::RunSpec& run) {
  return std::make_unique<FlatTokensSource>(run);
}

}  // namespace perfbench::engine
