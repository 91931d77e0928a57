// Memory that operations use beside their operands. One buffer serves all of them, because they run one after another;
// it is a tensor of the run (trainer.cpp), so a dry walk counts it too. The kernels of the cuda backend size their
// parts with the functions below, so plan and use have the same formula. The cpu backend's functions are in
// cpu_workspace.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "engine/ops/attention_parts.h"
#include "engine/ops/cpu_workspace.h"
#include "workloads/spec/divide_up.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine::workspace {

// The workspace of cuBLASLt's algorithms; NVIDIA recommends this much for Hopper (cuBLAS documentation,
// cublasSetWorkspace).
inline constexpr std::int64_t kMatmulBytes = std::int64_t{32} << 20;

// For products of 8-bit operands: a transposed operand, behind the other workspace and aligned as tensors are.
constexpr std::int64_t transpose_bytes(std::int64_t elements) {
  return spec::divide_up(elements, 256) * 256;
}

// Tensors in one launch of an operation on many tensors: their list is a kernel parameter, which has 32 KiB from CUDA
// 12.1 on.
inline constexpr int kListedOperands = 256;

// Sums of whole tensors: one f64 for each block of threads.
inline constexpr std::int64_t kSumBlocks = 1024;  // per tensor
constexpr std::int64_t sum_bytes(std::int64_t tensors) {
  return std::min<std::int64_t>(tensors, kListedOperands) * kSumBlocks * static_cast<std::int64_t>(sizeof(double));
}

// Sums over rows of [N, width], for biases and norm weights: f32 partial sums of groups of rows. For biases a block has
// only some of the columns, so few groups fill any device.
inline constexpr std::int64_t kBiasRowGroups = 256;
constexpr std::int64_t bias_backward_bytes(std::int64_t width) {
  return kBiasRowGroups * width * static_cast<std::int64_t>(sizeof(float));
}

// A norm's block has whole rows, and a thread 16 elements of a row. 512 threads of up to 128 registers fill a
// multiprocessor, and 2^20 elements fill the first 128 of an H100's 132. The number is a power of two, so that whole
// blocks fill a multiprocessor and no block waits for another to end: 1024 blocks of up to 1024 elements, 512 of up to
// 2048, 256 of up to 4096. Wider rows have enough blocks, twice as many as run at once; for narrower ones more blocks
// would make the second sum longer. The partial sums are groups / N of what the kernel moves for N rows: 1/16 for 8192
// rows of 2048 elements.
constexpr std::int64_t norm_row_groups(std::int64_t width) {
  constexpr std::uint64_t kResidentElements = std::uint64_t{1} << 20;
  const auto groups = static_cast<std::int64_t>(std::bit_floor(kResidentElements / static_cast<std::uint64_t>(width)));
  return std::clamp<std::int64_t>(groups, 256, 1024);
}
// For weight and bias. It drops where the number of groups halves, so a wider norm may need less.
constexpr std::int64_t norm_backward_bytes(std::int64_t width) {
  return norm_row_groups(width) * 2 * width * static_cast<std::int64_t>(sizeof(float));
}

// Sorting tokens by their id: the histograms of the sort, 1 KiB for every tile of at least 1024 tokens
// (cub::DeviceRadixSort), in addition to keys and places in two buffers each.
constexpr std::int64_t sort_scratch_bytes(std::int64_t tokens) {
  return tokens + (std::int64_t{4} << 20);
}
constexpr std::int64_t embedding_sort_bytes(std::int64_t tokens) {
  return 4 * static_cast<std::int64_t>(sizeof(std::int32_t)) * tokens + sort_scratch_bytes(tokens);
}

// Routing tokens to experts: one f32 per token.
constexpr std::int64_t routing_bytes(std::int64_t tokens) {
  return tokens * static_cast<std::int64_t>(sizeof(float));
}

// Dot-product attention: scores in f32, as many as fit into the workspace that matrix products have anyway, or a
// sequence's sums of dkey.
inline constexpr std::int64_t kScoreFloats = kMatmulBytes / static_cast<std::int64_t>(sizeof(float));
constexpr std::int64_t dot_product_bytes(const AttentionDims& d) {
  return std::max(kScoreFloats, d.seq_len * d.n_kv_heads * d.head_dim) * static_cast<std::int64_t>(sizeof(float));
}

// The backward pass of our own flash attention: for each row the sum of dcontext * context.
constexpr std::int64_t flash_bytes(const AttentionDims& d) {
  return d.batch * d.n_heads * d.seq_len * static_cast<std::int64_t>(sizeof(float));
}

// With a bias also f32 sums by distance for each tile of queries, so that no two blocks add to one gradient at once.
constexpr std::int64_t flash_query_rows(std::int64_t head_dim, DType dtype) {
  return dtype == DType::bf16 || head_dim <= 128 ? 64 : 32;
}
constexpr std::int64_t flash_bias_bytes(const AttentionDims& d, DType dtype) {
  return flash_bytes(d) * (1 + spec::divide_up(d.seq_len, flash_query_rows(d.head_dim, dtype)));
}

// The forward pass of a library's flash attention, whose scores exist one tile at a time: two f32 per row and some
// counters.
constexpr std::int64_t library_forward_bytes(const AttentionDims& d) {
  return kMatmulBytes + 2 * flash_bytes(d);
}

// For a run's flash attention or materialised scores. The backward pass needs at least as much as the forward pass.
std::int64_t attention_bytes(const spec::RunSpec& run);

// The workspace of a run, in bytes.
std::int64_t bytes(const spec::RunSpec& run);

}  // namespace perfbench::engine::workspace
