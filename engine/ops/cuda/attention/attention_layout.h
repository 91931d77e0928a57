// A part of an attention as a library takes it: dimensions, strides and addresses.
#pragma once

#include <array>
#include <cstdint>

#include "engine/ops/attention_parts.h"

namespace perfbench::engine::cuda {

// What is computed, and the width of the rows it lies in: with fewer heads than those, a row's other heads lie between.
struct AttentionLayout {
  AttentionDims dims;           // of the part
  std::int64_t n_heads = 0;     // of the whole
  std::int64_t n_kv_heads = 0;  // of the whole
};
AttentionLayout layout_of(const AttentionDims& whole, const AttentionPart& part);

// [B, heads, T, D]; strides in elements.
struct HeadTensor {
  std::array<std::int64_t, 4> dims;
  std::array<std::int64_t, 4> strides;
};
HeadTensor queries_of(const AttentionLayout& layout);  // and context, and the gradients of both
HeadTensor keys_of(const AttentionLayout& layout);     // and values, and the gradients of both
// logsumexp[B, H, T, 1]: packed, as the heads of one sequence, and whole sequences, lie behind each other. cuDNN's
// backward pass takes no other layout before 9.26 (the front end's scaled_dot_product_flash_attention.h).
HeadTensor statistics_of(const AttentionLayout& layout);

// First elements. Those of gradients are null in the forward pass.
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
