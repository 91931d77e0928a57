// Device memory that operations of the cuda backend use beside their operands. One buffer serves all of them, because
// they run one after another; it is a tensor of the run (trainer.cpp), so that a dry walk counts it too. The kernels
// take their parts by the functions below: one formula for what is planned and what is used.
#pragma once

#include <algorithm>
#include <cstdint>

#include "workloads/spec/run_spec.h"

namespace perfbench::engine::workspace {

// What cuBLASLt's algorithms may use; NVIDIA recommends this much for Hopper (cuBLAS documentation,
// cublasSetWorkspace).
inline constexpr std::int64_t kMatmulBytes = std::int64_t{32} << 20;

// Tensors that one launch of an operation on many takes: their list is a kernel's parameter, of which there are 32 KiB
// from CUDA 12.1 on.
inline constexpr int kListedOperands = 256;

// Sums of whole tensors: one f64 of each block of threads.
inline constexpr std::int64_t kSumBlocks = 1024;  // of a tensor
constexpr std::int64_t sum_bytes(std::int64_t tensors) {
  return std::min<std::int64_t>(tensors, kListedOperands) * kSumBlocks * static_cast<std::int64_t>(sizeof(double));
}

// Sums over rows of [N, width] (bias, norm weights): f32 partial sums of this many groups of rows.
inline constexpr std::int64_t kRowGroups = 256;
constexpr std::int64_t column_sum_bytes(std::int64_t width, std::int64_t sums) {
  return kRowGroups * sums * width * static_cast<std::int64_t>(sizeof(float));
}

// Tokens sorted by their id: keys and places, each in two buffers, and the histograms of the sort, 1 KiB for every tile
// of at least 1024 tokens (cub::DeviceRadixSort).
constexpr std::int64_t embedding_sort_bytes(std::int64_t tokens) {
  return (4 * static_cast<std::int64_t>(sizeof(std::int32_t)) + 1) * tokens + (std::int64_t{4} << 20);
}

// Flash attention's backward pass: the rows' sums of dcontext * context, and what a library's kernel accumulates in
// f32 (dquery, and dkey and dvalue of every query head).
constexpr std::int64_t attention_backward_bytes(std::int64_t tokens, std::int64_t n_heads, std::int64_t head_dim) {
  const std::int64_t rows = tokens * n_heads;
  return rows * 2 * static_cast<std::int64_t>(sizeof(float)) +
         3 * rows * head_dim * static_cast<std::int64_t>(sizeof(float)) + (std::int64_t{16} << 20);
}

// Bytes of the workspace of a run; 0 on the CPU, whose kernels keep scratch of their own.
constexpr std::int64_t bytes(const spec::RunSpec& run) {
  if (run.device != spec::Device::cuda) return 0;
  const auto& model = run.model;
  const std::int64_t tokens = run.microbatch() * run.seq_len;
  const std::int64_t widest = std::max({model.d_model, model.d_ff, model.n_heads * model.head_dim});
  return std::max({kMatmulBytes, sum_bytes(kListedOperands), column_sum_bytes(widest, 2), embedding_sort_bytes(tokens),
                   attention_backward_bytes(tokens, model.n_heads, model.head_dim)});
}

}  // namespace perfbench::engine::workspace
