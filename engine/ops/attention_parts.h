// Divides flash attention's backward pass into parts that a library computes one after another in one workspace.
// cuDNN's deterministic algorithm holds the gradient of all scores of a call, 2*T*T bytes for each query head of each
// sequence. Sequences are independent of each other, and so are key/value heads with their query heads, so the division
// changes no bit of the result. One function decides it for both the plan (workspace.h) and the execution
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

// How a library adds up gradients. same_bits: results depend on the operands alone. any_order: gradients may be added
// in the order of their arrival.
enum class Summation { same_bits, any_order };
Summation summation_of(const spec::RunSpec& run);

// The attention of a microbatch on one rank. If tp has several ranks for a key/value head, each of them has that head.
AttentionDims attention_of_rank(const spec::RunSpec& run);

// The width of rows that have query, key and value side by side.
constexpr std::int64_t qkv_width(const AttentionDims& dims) {
  return (dims.n_heads + 2 * dims.n_kv_heads) * dims.head_dim;
}

// Several whole sequences of the batch, or some key/value heads of one sequence with their query heads.
struct AttentionPart {
  std::int64_t first_sequence = 0;
  std::int64_t sequences = 0;
  std::int64_t first_kv_head = 0;
  std::int64_t kv_heads = 0;
  friend bool operator==(const AttentionPart&, const AttentionPart&) = default;
};

// The size of a part. The last part of the batch, or of each sequence, may be smaller.
struct AttentionSplit {
  std::int64_t sequences = 0;
  std::int64_t kv_heads = 0;
  std::int64_t workspace_bytes = 0;  // of each part; 0 if it is refused
  std::string refusal;               // the reason why a library cannot compute it, or empty
};

// The limits of one part. A single key/value head may exceed the rows.
struct AttentionPartLimits {
  // Rows (query heads x tokens) of a part whose workspace grows with T*T. On an H100 a step with parts of 262144 rows
  // is shorter than with parts of 65536, by 3.4 ms for 1.2B parameters at 4x2048: there are fewer calls, each with its
  // own tail.
  std::int64_t rows = 262144;
  std::int64_t bytes = std::int64_t{4} << 30;
};

// The dry walk and a run on a device must use the same limits. Tests use smaller ones.
AttentionSplit split_attention_backward(const AttentionDims& dims, Summation summation,
                                        const AttentionPartLimits& limits = {});

// All parts in the order of memory; they cover each head of each sequence once.
std::vector<AttentionPart> parts_of(const AttentionDims& dims, const AttentionSplit& split);

}  // namespace perfbench::engine
