// The parts in which a library computes flash attention's backward pass, one call after another in one workspace.
// cuDNN's deterministic algorithm holds the gradient of all scores of a call, 2*T*T bytes for each query head of each
// sequence; sequences are independent of each other, and so are key/value heads with their query heads, so that parts
// change no bit of the result. One function decides, for what is planned (workspace.h) and for what is executed
// (cuda/operations/attention.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/ops/ops.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// Of libraries. same_bits: results depend on the operands alone. any_order: gradients may be added up in the order of
// their arrival.
enum class Summation { same_bits, any_order };
Summation summation_of(const spec::RunSpec& run);

// A microbatch's attention on one rank. Where the ranks along tp have more than one rank for a key/value head, each of
// them has that head.
AttentionDims attention_of_rank(const spec::RunSpec& run);

// Of the rows that have query, key and value side by side.
constexpr std::int64_t qkv_width(const AttentionDims& dims) {
  return (dims.n_heads + 2 * dims.n_kv_heads) * dims.head_dim;
}

// Several whole sequences of the batch, or some key/value heads, with their query heads, of one sequence.
struct AttentionPart {
  std::int64_t first_sequence = 0;
  std::int64_t sequences = 0;
  std::int64_t first_kv_head = 0;
  std::int64_t kv_heads = 0;
  friend bool operator==(const AttentionPart&, const AttentionPart&) = default;
};

// The size of all parts but the last of the batch, or of each sequence, which may be smaller.
struct AttentionSplit {
  std::int64_t sequences = 0;
  std::int64_t kv_heads = 0;
  std::int64_t workspace_bytes = 0;  // of each part; 0 where it is refused
  std::string refusal;               // why a library cannot compute it, or empty
};

// How much one part may take. A single key/value head may have more rows.
struct AttentionPartLimits {
  // Rows (query heads x tokens) of a part whose workspace grows with T*T. On an H100 a step with parts of 262144 rows
  // is shorter than with parts of 65536, by 3.4 ms for 1.2B parameters at 4x2048: fewer calls, each with a tail of its
  // own.
  std::int64_t rows = 262144;
  std::int64_t bytes = std::int64_t{4} << 30;
};

// The dry walk and a run on a device must take the same limits. Tests take smaller ones.
AttentionSplit split_attention_backward(const AttentionDims& dims, Summation summation,
                                        const AttentionPartLimits& limits = {});

// All of it, each head of each sequence once, in the order of memory.
std::vector<AttentionPart> parts_of(const AttentionDims& dims, const AttentionSplit& split);

}  // namespace perfbench::engine
