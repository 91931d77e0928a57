#include "engine/ops/attention_parts.h"

#include <algorithm>
#include <limits>

#include "workloads/spec/divide_up.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

// For counters and the like, whose size no documentation gives.
constexpr std::int64_t kLibraryBytes = std::int64_t{16} << 20;

// cuDNN's tiles: it holds the gradient of the scores in whole tiles (64 queries, 128 keys; the front end's
// scaled_dot_product_flash_attention.h).
constexpr std::int64_t kTile = 128;

// The bytes that a library's kernel holds for one query head of one sequence. For each row: two f32 statistics, and f32
// sums of dquery, and of dkey and dvalue, which grouped heads add up afterwards. If the same bits are wanted, also a
// row of the gradient of the scores in bf16. cuDNN never holds both that gradient and the sums of dquery, but which of
// the two depends on its version.
std::int64_t head_bytes(const AttentionDims& d, Summation summation) {
  const std::int64_t rows = spec::divide_up(d.seq_len, kTile) * kTile;
  const std::int64_t f32 = static_cast<std::int64_t>(sizeof(float));
  const std::int64_t scores = summation == Summation::same_bits ? size_bytes(DType::bf16) * rows : 0;
  return rows * (2 * f32 + 3 * d.head_dim * f32 + scores);
}

// Operands of a part begin where the previous part ends, and cuDNN requires addresses that are multiples of 16 bytes:
// four f32 of the logsumexp. (Vectors of bf16 always begin at multiples of 16 bytes.)
constexpr std::int64_t kAlignedRows = 4;

std::string text(std::int64_t number) {
  return std::to_string(number);
}

}  // namespace

Summation summation_of(const spec::RunSpec& run) {
  return run.deterministic ? Summation::same_bits : Summation::any_order;
}

AttentionDims attention_of_rank(const spec::RunSpec& run) {
  const auto& model = run.model;
  AttentionDims dims{.batch = run.microbatch(),
                     .seq_len = run.seq_len,
                     .n_heads = model.n_heads / run.mesh.tp(),
                     .n_kv_heads = std::max<std::int64_t>(1, model.n_kv_heads / run.mesh.tp()),
                     .head_dim = model.head_dim};
  if (model.attention_scale != 0.0) dims.score_factor = static_cast<float>(model.attention_scale);
  return dims;
}

AttentionSplit split_attention_backward(const AttentionDims& d, Summation summation,
                                        const AttentionPartLimits& limits) {
  const std::int64_t group = d.n_heads / d.n_kv_heads;
  const std::int64_t head = head_bytes(d, summation);
  const std::int64_t room = limits.bytes - kLibraryBytes;
  // With sums in any order the workspace grows only with T, so a part takes as much as fits.
  const std::int64_t rows = summation == Summation::same_bits ? limits.rows : std::numeric_limits<std::int64_t>::max();
  const auto most = [&](std::int64_t heads) { return std::min(rows / (heads * d.seq_len), room / (heads * head)); };
  if (group * head > room) {
    return {.refusal = "the backward pass of one key/value head needs " + text(group * head + kLibraryBytes) +
                       " bytes of workspace, more than " + text(limits.bytes)};
  }
  AttentionSplit split{.sequences = 1, .kv_heads = d.n_kv_heads};
  if (const std::int64_t sequences = most(d.n_heads); sequences > 0) {
    split.sequences = std::min(sequences, d.batch);
  } else {
    split.kv_heads = std::clamp<std::int64_t>(most(group), 1, d.n_kv_heads);
  }
  const bool whole = split.sequences == d.batch && split.kv_heads == d.n_kv_heads;
  if (!whole && d.seq_len % kAlignedRows != 0) {
    return {.refusal =
                "the backward pass is divided into parts, which begin at multiples of 16 bytes only if seq_len is a "
                "multiple of 4, and it is " +
                text(d.seq_len)};
  }
  split.workspace_bytes = split.sequences * split.kv_heads * group * head + kLibraryBytes;
  return split;
}

std::vector<AttentionPart> parts_of(const AttentionDims& d, const AttentionSplit& split) {
  std::vector<AttentionPart> parts;
  for (std::int64_t sequence = 0; sequence < d.batch; sequence += split.sequences) {
    for (std::int64_t head = 0; head < d.n_kv_heads; head += split.kv_heads) {
      parts.push_back({.first_sequence = sequence,
                       .sequences = std::min(split.sequences, d.batch - sequence),
                       .first_kv_head = head,
                       .kv_heads = std::min(split.kv_heads, d.n_kv_heads - head)});
    }
  }
  return parts;
}

}  // namespace perfbench::engine
