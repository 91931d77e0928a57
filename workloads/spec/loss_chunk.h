// The default number of rows of logits that the head of the model holds at once. The resolver of a matrix writes it
// into RunSpec::loss_chunk_tokens, so that run.json, its id and a dry walk have an explicit number.
#pragma once

#include <cstdint>

#include "workloads/spec/run_spec.h"

namespace perfbench::spec {

// The logits of one chunk on a GPU: about a hundredth of its memory.
inline constexpr std::int64_t kMostLogitsBytes = std::int64_t{1} << 30;
inline constexpr std::int64_t kMostLossChunkTokens = 8192;

// cpu: the field's default, measured: as fast as twice as many rows with half the memory.
//
// cuda: beside its three products (logits, and the gradients of weight and input: 6*C*V*M FLOPs for C rows) a chunk
// reads and writes the f32 gradient of the unembedding, 8*V*M bytes. With a peak of P FLOP/s and B bytes/s of memory,
//   time of that traffic / time of the products = (8/B) / (6*C/P) = 4/3 * P/B / C,
// whatever V and M. P/B is 295 FLOP/byte in bf16 on an H100 (workloads/hardware/h100.yaml): 77 % with 512 rows, 5 %
// with 8192, beyond which there is little to save. Rows cost the memory of C*V logits: 8192 is halved until they take
// at most kMostLogitsBytes, but not below the CPU's choice. (With logits in fp32, a bf16 run has a gradient in bf16
// beside them.)
inline std::int64_t loss_chunk_tokens_for(Device device, Precision precision, LogitsType logits,
                                          std::int64_t vocab_size) {
  static const std::int64_t least = RunSpec().loss_chunk_tokens;
  if (device == Device::cpu) return least;
  const bool four_bytes = precision == Precision::fp32 || precision == Precision::tf32;
  const std::int64_t logit_bytes = four_bytes ? 4 : logits == LogitsType::fp32 ? 4 + 2 : 2;
  const std::int64_t row_bytes = vocab_size * logit_bytes;
  std::int64_t rows = kMostLossChunkTokens;
  while (rows > least && rows * row_bytes > kMostLogitsBytes) rows /= 2;
  return rows;
}

}  // namespace perfbench::spec
