// A part of an attention as a library needs it: dimensions, strides and addresses.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "engine/ops/attention_parts.h"

namespace perfbench::engine::cuda {

// Elements from one token's row to the next. Heads of other parts lie between, and anything else in the operand's rows.
// Strides of gradients are 0 in the forward pass.
struct AttentionStrides {
  std::int64_t query = 0;
  std::int64_t key = 0;
  std::int64_t value = 0;
  std::int64_t context = 0;  // also of its gradient
  std::int64_t dquery = 0;
  std::int64_t dkey = 0;
  std::int64_t dvalue = 0;
  auto operator<=>(const AttentionStrides&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
};

// The problem and its layout in memory.
struct AttentionLayout {
  AttentionDims dims;  // of the part
  AttentionStrides strides;
};
AttentionLayout layout_of(const AttentionForwardArgs& args, const AttentionPart& part);
AttentionLayout layout_of(const AttentionBackwardArgs& args, const AttentionPart& part);

// [B, heads, T, D]; strides in elements.
struct HeadTensor {
  std::array<std::int64_t, 4> dims;
  std::array<std::int64_t, 4> strides;
};
// For an operand with that stride: queries and context, or keys and values, and all gradients.
HeadTensor queries_of(const AttentionLayout& layout, std::int64_t stride);
HeadTensor keys_of(const AttentionLayout& layout, std::int64_t stride);
// logsumexp[B, H, T, 1]: packed, because the heads of one sequence, or whole sequences, lie behind each other. cuDNN's
// backward pass takes no other layout before 9.26 (the front end's scaled_dot_product_flash_attention.h).
HeadTensor statistics_of(const AttentionLayout& layout);

// Addresses of first elements. Addresses of gradients are null in the forward pass.
struct AttentionAddresses {
  void* query = nullptr;
  void* key = nullptr;
  void* value = nullptr;
  void* context = nullptr;
  void* logsumexp = nullptr;
  void* dcontext = nullptr;
  void* dquery = nullptr;
  void* dkey = nullptr;
  void* dvalue = nullptr;
};
AttentionAddresses addresses_of(const AttentionForwardArgs& args, const AttentionPart& part);
AttentionAddresses addresses_of(const AttentionBackwardArgs& args, const AttentionPart& part);

}  // namespace perfbench::engine::cuda
