// The source of a rank's tokens. A batch is a pure function of (step, microbatch, shard), so any batch can be requested
// at any time and repeatedly.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// Identifies the sequences of a microbatch: microbatch `index` of `step`, in data shard `shard`.
struct BatchPlace {
  std::int64_t step = 0;
  std::int64_t microbatch = 0;
  std::int64_t shard = 0;
};

// Counts of positions in a batch.
struct TokenCounts {
  std::int64_t targets = 0;  // positions whose target is not kNoTarget
  std::int64_t padding = 0;  // positions without a token
};

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // Fills tokens and targets [microbatch * seq_len], row-major [B, T]. A target is the next token, or kNoTarget in a
  // run that counts its targets (RunSpec::counts_targets). Throws BadInput.
  virtual TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens,
                           std::span<std::int32_t> targets) = 0;
  // In a run that packs documents: fills first [microbatch * seq_len] with the position within its row at which the
  // document of each position begins (engine/ops/ops.h).
  virtual void read_document_starts(const BatchPlace& place, std::span<std::int32_t> first);
};

// The global index of the first sequence of a microbatch: step k holds sequences [k*global_batch, (k+1)*global_batch);
// shards and microbatches are consecutive slices of them.
std::int64_t first_sequence(const spec::RunSpec& run, const BatchPlace& place);

// The token at (sequence s, position t), 0 <= t <= seq_len, is RngStream(data.seed,
// "synthetic_tokens").bits(s*(seq_len+1)+t) modulo vocab_size.
std::unique_ptr<TokenSource> make_synthetic_tokens(const spec::RunSpec& run);

// Windows of seq_len tokens from the split that run.data names, in an order keyed by run.data.seed and new in each
// epoch. With packing a row holds whole sequences, and pieces of seq_len tokens of longer ones; every token of them is
// a target, and padding follows. Throws BadInput if the data set cannot be read, has tokens beyond the vocabulary, or
// has less than one window (with packing: no token).
std::unique_ptr<TokenSource> make_flat_tokens(const spec::RunSpec& run);

// One document to a row, with packing several, from the split that run.data names: its first seq_len + 1 tokens (in a
// packed row seq_len), followed by 0s as padding, in an order keyed by run.data.seed and new in each epoch. A position
// has no target if its next token is in the prompt, in another document, or padding. Throws BadInput if the data set
// cannot be read, has no document, one without prompt or completion, or a token beyond the vocabulary.
std::unique_ptr<TokenSource> make_instruction_tokens(const spec::RunSpec& run);

}  // namespace perfbench::engine
