// Memory that operations use beside their operands. One buffer serves all of them, because they run one after another;
// it is a tensor of the run (trainer.cpp), so that a dry walk counts it too. The kernels of the cuda backend take their
// parts by the functions below: one formula for what is planned and what is used. Those of the cpu backend have theirs
// in cpu_workspace.h.
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

// What cuBLASLt's algorithms may use; NVIDIA recommends this much for Hopper (cuBLAS documentation,
// cublasSetWorkspace).
inline constexpr std::int64_t kMatmulBytes = std::int64_t{32} << 20;

// Of products of 8-bit operands: a transposed operand, behind that, at a multiple of what tensors lie at.
constexpr std::int64_t transpose_bytes(std::int64_t elements) {
  return spec::divide_up(elements, 256) * 256;
}

// Tensors that one launch of an operation on many takes: their list is a kernel's parameter, of which there are 32 KiB
// from CUDA 12.1 on.
inline constexpr int kListedOperands = 256;

// Sums of whole tensors: one f64 of each block of threads.
inline constexpr std::int64_t kSumBlocks = 1024;  // of a tensor
constexpr std::int64_t sum_bytes(std::int64_t tensors) {
  return std::min<std::int64_t>(tensors, kListedOperands) * kSumBlocks * static_cast<std::int64_t>(sizeof(double));
}

// Sums over rows of [N, width], of biases and norm weights: f32 partial sums of groups of rows. Of biases a block has
// but a part of the columns, so that few groups fill any device.
inline constexpr std::int64_t kBiasRowGroups = 256;
constexpr std::int64_t bias_backward_bytes(std::int64_t width) {
  return kBiasRowGroups * width * static_cast<std::int64_t>(sizeof(float));
}

// A norm's block has whole rows, 16 elements of one a thread: 512 threads of up to 128 registers fill a multiprocessor,
// and 2^20 elements the first 128 of an H100's 132. A power of two, so that whole blocks fill a multiprocessor and none
// waits for another to end: 1024 blocks of up to 1024 elements, 512 of up to 2048, 256 of up to 4096. Wider rows have
// blocks enough, twice as many as find room at once; narrower ones would pay for a longer second sum. The partial sums
// are groups / N of what the kernel moves for N rows: 1/16 for 8192 rows of 2048 elements.
constexpr std::int64_t norm_row_groups(std::int64_t width) {
  constexpr std::uint64_t kResidentElements = std::uint64_t{1} << 20;
  const auto groups = static_cast<std::int64_t>(std::bit_floor(kResidentElements / static_cast<std::uint64_t>(width)));
  return std::clamp<std::int64_t>(groups, 256, 1024);
}
// Of weight and bias. Falls where the groups halve: a wider norm may need less.
constexpr std::int64_t norm_backward_bytes(std::int64_t width) {
  return norm_row_groups(width) * 2 * width * static_cast<std::int64_t>(sizeof(float));
}

// Tokens sorted by their id: the histograms of the sort, 1 KiB for every tile of at least 1024 tokens
// (cub::DeviceRadixSort), behind keys and places, each in two buffers.
constexpr std::int64_t sort_scratch_bytes(std::int64_t tokens) {
  return tokens + (std::int64_t{4} << 20);
}
constexpr std::int64_t embedding_sort_bytes(std::int64_t tokens) {
  return 4 * static_cast<std::int64_t>(sizeof(std::int32_t)) * tokens + sort_scratch_bytes(tokens);
}

// The routing of tokens to experts: one f32 of each token.
constexpr std::int64_t routing_bytes(std::int64_t tokens) {
  return tokens * static_cast<std::int64_t>(sizeof(float));
}

// Dot-product attention: scores in f32, as many as fit what matrix products have anyhow, or a sequence's sums of dkey.
inline constexpr std::int64_t kScoreFloats = kMatmulBytes / static_cast<std::int64_t>(sizeof(float));
constexpr std::int64_t dot_product_bytes(const AttentionDims& d) {
  return std::max(kScoreFloats, d.seq_len * d.n_kv_heads * d.head_dim) * static_cast<std::int64_t>(sizeof(float));
}

// Flash attention's own backward pass: of each row the sum of dcontext * context.
constexpr std::int64_t flash_bytes(const AttentionDims& d) {
  return d.batch * d.n_heads * d.seq_len * static_cast<std::int64_t>(sizeof(float));
}

// With a bias also f32 sums by distance of each tile of queries, whose gradient no two blocks add to at once.
constexpr std::int64_t flash_query_rows(std::int64_t head_dim, DType dtype) {
  return dtype == DType::bf16 || head_dim <= 128 ? 64 : 32;
}
constexpr std::int64_t flash_bias_bytes(const AttentionDims& d, DType dtype) {
  return flash_bytes(d) * (1 + spec::divide_up(d.seq_len, flash_query_rows(d.head_dim, dtype)));
}

// Flash attention's forward pass by a library, whose scores exist one tile at a time: two f32 a row and some counters.
constexpr std::int64_t library_forward_bytes(const AttentionDims& d) {
  return kMatmulBytes + 2 * flash_bytes(d);
}

// Flash attention of a run, or its materialised scores. The backward pass needs as much as the forward pass or more.
std::int64_t attention_bytes(const spec::RunSpec& run);

// Bytes of the workspace of a run.
std::int64_t bytes(const spec::RunSpec& run);

}  // namespace perfbench::engine::workspace
