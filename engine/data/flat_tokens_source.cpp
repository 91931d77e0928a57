// Packed training from a flat-tokens data set (workloads/datasets/flat_tokens.h): window w is
// encoded[w*seq_len, (w+1)*seq_len), every token a target. The input is the token before the target, 0 where a sequence
// or the window begins: what lies before a window is never read.
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "engine/data/dataset_input.h"
#include "engine/data/token_source.h"
#include "engine/data/window_order.h"
#include "workloads/datasets/flat_tokens.h"

namespace perfbench::engine {
namespace {

class FlatTokensSource final : public TokenSource {
 public:
  explicit FlatTokensSource(const spec::RunSpec& run)
      : run_(run),
        data_(from_dataset([&] { return spec::FlatTokens(run.data.path, run.data.split); })),
        windows_(data_.tokens() / run.seq_len),
        encoded_(as_size(run.seq_len)) {
    const std::string where = run.data.path + "/" + run.data.split;
    if (data_.max_token_id() >= run.model.vocab_size) {
      throw BadInput(where + ": max_token_id is " + std::to_string(data_.max_token_id()) + ", but the vocabulary of " +
                     run.model.name + " has " + std::to_string(run.model.vocab_size) +
                     " tokens; set model.vocab_size to at least " +
                     std::to_string(std::int64_t{data_.max_token_id()} + 1));
    }
    if (windows_ < 1) {
      throw BadInput(where + ": has " + std::to_string(data_.tokens()) + " tokens, fewer than one window of seq_len " +
                     std::to_string(run.seq_len));
    }
  }

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    const std::int64_t first = first_sequence(run_, place);
    const auto length = as_size(run_.seq_len);
    for (std::int64_t b = 0; b < run_.microbatch(); ++b) {
      const auto at = as_size(b) * length;
      const auto window = window_of(first + b, windows_, static_cast<std::uint64_t>(run_.data.seed));
      read_window(window, tokens.subspan(at, length), targets.subspan(at, length));
    }
    return {.targets = static_cast<std::int64_t>(targets.size())};
  }

 private:
  static std::size_t as_size(std::int64_t count) { return static_cast<std::size_t>(count); }

  void read_window(std::int64_t window, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) {
    from_dataset([&] { data_.read(window * run_.seq_len, encoded_); });
    std::int32_t before = 0;
    for (std::size_t t = 0; t < encoded_.size(); ++t) {
      tokens[t] = spec::starts_sequence(encoded_[t]) ? 0 : before;
      targets[t] = spec::token_of(encoded_[t]);
      before = targets[t];
    }
  }

  const spec::RunSpec& run_;
  spec::FlatTokens data_;
  std::int64_t windows_;
  std::vector<std::uint32_t> encoded_;  // of one window
};

}  // namespace

std::unique_ptr<TokenSource> make_flat_tokens(const spec::RunSpec& run) {
  return std::make_unique<FlatTokensSource>(run);
}

}  // namespace perfbench::engine
