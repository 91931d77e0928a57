// Where a rank's tokens come from. A batch is a pure function of (step, microbatch, shard): any of them can be asked
// for at once and again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// Sequences of a microbatch: microbatch `index` of `step`, of data shard `shard`.
struct BatchPlace {
  std::int64_t step = 0;
  std::int64_t microbatch = 0;
  std::int64_t shard = 0;
};

// Of the positions of a batch.
struct TokenCounts {
  std::int64_t targets = 0;  // all but kNoTarget
  std::int64_t padding = 0;  // hold no token
};

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // Fills tokens and targets [microbatch * seq_len], row-major [B, T]; targets are the tokens one position on, or
  // kNoTarget in a run that counts them (RunSpec::counts_targets). Throws BadInput.
  virtual TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens,
                           std::span<std::int32_t> targets) = 0;
  // In a run that packs documents fills first [microbatch * seq_len]: where within its row the document of each
  // position begins (engine/ops/ops.h).
  virtual void read_document_starts(const BatchPlace& place, std::span<std::int32_t> first);
};

// Global index of the first sequence of a microbatch: step k holds sequences [k*global_batch, (k+1)*global_batch),
// shard and microbatch are consecutive slices of them.
std::int64_t first_sequence(const spec::RunSpec& run, const BatchPlace& place);

// Token at (sequence s, position t), 0 <= t <= seq_len: RngStream(data.seed, "synthetic_tokens").bits(s*(seq_len+1)+t)
// modulo vocab_size.
std::unique_ptr<TokenSource> make_synthetic_tokens(const spec::RunSpec& run);

// Windows of seq_len tokens of the split run.data names, in an order keyed by run.data.seed, a new one each epoch.
// With packing a row has whole sequences and pieces of seq_len of longer ones, every token of them a target, and
// padding behind. Throws BadInput when the data set cannot be read, has tokens beyond the vocabulary or less than one
// window (with packing, no token).
std::unique_ptr<TokenSource> make_flat_tokens(const spec::RunSpec& run);

// One document of the split run.data names a row, with packing several: its first seq_len + 1 tokens (in a packed row
// seq_len), behind them 0s as padding, in an order keyed by run.data.seed, a new one each epoch. A position whose next
// token is of the prompt, of another document or padding has no target. Throws BadInput when the data set cannot be
// read, has no document, or one without prompt or completion, or with a token beyond the vocabulary.
std::unique_ptr<TokenSource> make_instruction_tokens(const spec::RunSpec& run);

}  // namespace perfbench::engine
