// Attention with its probabilities held. Products run over blocks of rows and stop at each block's diagonal, so that
// little more than the causal half is computed.
#include <algorithm>
#include <cmath>

#include "engine/ops/cpu/attention.h"
#include "engine/ops/cpu/attention_heads.h"
#include "engine/ops/cpu/numerics.h"
#include "engine/ops/cpu/sgemm.h"

namespace perfbench::engine::cpu {
namespace {

constexpr std::int64_t kRows = 64;

// The [T, T] matrix of one head inside a [B, H, T, T] tensor, in f32: in place, or by way of a copy.
float* square_of(const TensorView& t, const AttentionDims& d, HeadPlace at, std::vector<float>& copy) {
  const std::int64_t square = d.seq_len * d.seq_len;
  if (t.dtype == DType::f32) return t.as<float>() + (at.batch * d.n_heads + at.head) * square;
  copy.resize(static_cast<std::size_t>(square));
  return copy.data();
}

void softmax_row(float* row, std::int64_t row_index, std::int64_t t_count, float scale, float& logsumexp) {
  const std::int64_t seen = row_index + 1;
  const float largest = row_max(row, seen);
  const float sum = lane_sum(seen, [=](std::int64_t i) {
    const float e = exp_f32((row[i] - largest) * scale);
    row[i] = e;
    return e;
  });
  const float inverse = 1.0F / sum;
  for (std::int64_t i = 0; i < seen; ++i) row[i] *= inverse;
  std::fill(row + seen, row + t_count, 0.0F);
  logsumexp = largest * scale + std::log(sum);
}

void forward_head(const AttentionForwardArgs& args, HeadPlace at, HeadScratch& s) {
  const auto& d = args.dims;
  const std::int64_t t = d.seq_len;
  const HeadPlace kv{at.batch, at.head / (d.n_heads / d.n_kv_heads)};
  const HeadMatrix q = read_head(args.query, d, at, s.query);
  const HeadMatrix k = read_head(args.key, d, kv, s.key);
  const HeadMatrix v = read_head(args.value, d, kv, s.value);
  float* p = square_of(args.weights_BHTT, d, at, s.scores);
  float* lse = args.logsumexp_BHT.as<float>() + (at.batch * d.n_heads + at.head) * t;
  const float scale = 1.0F / std::sqrt(static_cast<float>(d.head_dim));
  s.result.start(d);
  for (std::int64_t i0 = 0; i0 < t; i0 += kRows) {
    const std::int64_t rows = std::min(kRows, t - i0);
    const std::int64_t columns = i0 + rows;
    sgemm({.transpose_b = true,
           .m = rows,
           .n = columns,
           .k = d.head_dim,
           .a = q.row(i0),
           .lda = q.stride,
           .b = k.data,
           .ldb = k.stride,
           .c = p + i0 * t,
           .ldc = t});
    for (std::int64_t i = i0; i < i0 + rows; ++i) softmax_row(p + i * t, i, t, scale, lse[i]);
    sgemm({.m = rows,
           .n = d.head_dim,
           .k = columns,
           .a = p + i0 * t,
           .lda = t,
           .b = v.data,
           .ldb = v.stride,
           .c = s.result.data() + i0 * d.head_dim,
           .ldc = d.head_dim});
  }
  s.result.finish(args.context, d, at);
  if (args.weights_BHTT.dtype == DType::bf16) {
    narrow(p, args.weights_BHTT.as<Bf16>() + (at.batch * d.n_heads + at.head) * t * t, t * t);
  }
}

// ds = p * (dp - rowsum(dp * p)) * scale; adds to the key/value head's dk and dv, which all its query heads share.
void backward_head(const AttentionBackwardArgs& args, HeadPlace at, HeadMatrix k, HeadMatrix v, HeadScratch& s) {
  const auto& d = args.dims;
  const std::int64_t t = d.seq_len;
  const HeadMatrix q = read_head(args.query, d, at, s.query);
  const HeadMatrix dcontext = read_head(args.dcontext, d, at, s.dcontext);
  float* p = square_of(args.weights_BHTT, d, at, s.scores);
  if (args.weights_BHTT.dtype == DType::bf16) {
    widen(args.weights_BHTT.as<Bf16>() + (at.batch * d.n_heads + at.head) * t * t, p, t * t);
  }
  float* ds = square_of(args.dweights_BHTT, d, at, s.dscores);
  const float scale = 1.0F / std::sqrt(static_cast<float>(d.head_dim));
  s.dquery.start(d);
  for (std::int64_t i0 = 0; i0 < t; i0 += kRows) {
    const std::int64_t rows = std::min(kRows, t - i0);
    const std::int64_t columns = i0 + rows;
    sgemm({.transpose_b = true,
           .m = rows,
           .n = columns,
           .k = d.head_dim,
           .a = dcontext.row(i0),
           .lda = dcontext.stride,
           .b = v.data,
           .ldb = v.stride,
           .c = ds + i0 * t,
           .ldc = t});
    for (std::int64_t i = i0; i < i0 + rows; ++i) {
      float* ds_row = ds + i * t;
      const float* p_row = p + i * t;
      const float along = lane_sum(i + 1, [=](std::int64_t j) { return ds_row[j] * p_row[j]; });
      for (std::int64_t j = 0; j <= i; ++j) ds_row[j] = p_row[j] * (ds_row[j] - along) * scale;
      std::fill(ds_row + i + 1, ds_row + columns, 0.0F);
    }
    sgemm({.m = rows,
           .n = d.head_dim,
           .k = columns,
           .a = ds + i0 * t,
           .lda = t,
           .b = k.data,
           .ldb = k.stride,
           .c = s.dquery.data() + i0 * d.head_dim,
           .ldc = d.head_dim});
    sgemm({.transpose_a = true,
           .m = columns,
           .n = d.head_dim,
           .k = rows,
           .a = ds + i0 * t,
           .lda = t,
           .b = q.row(i0),
           .ldb = q.stride,
           .beta = 1.0F,
           .c = s.dkey.data(),
           .ldc = d.head_dim});
    sgemm({.transpose_a = true,
           .m = columns,
           .n = d.head_dim,
           .k = rows,
           .a = p + i0 * t,
           .lda = t,
           .b = dcontext.row(i0),
           .ldb = dcontext.stride,
           .beta = 1.0F,
           .c = s.dvalue.data(),
           .ldc = d.head_dim});
  }
  s.dquery.finish(args.dquery, d, at);
}

}  // namespace

void dot_product_forward(const AttentionForwardArgs& args) {
  const std::int64_t heads = args.dims.n_heads;
#pragma omp parallel
  {
    HeadScratch scratch;
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < args.dims.batch * heads; ++i) forward_head(args, {i / heads, i % heads}, scratch);
  }
}

void dot_product_backward(const AttentionBackwardArgs& args) {
  const auto& d = args.dims;
  const std::int64_t group = d.n_heads / d.n_kv_heads;
#pragma omp parallel
  {
    HeadScratch s;
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < d.batch * d.n_kv_heads; ++i) {
      const HeadPlace kv{i / d.n_kv_heads, i % d.n_kv_heads};
      const HeadMatrix k = read_head(args.key, d, kv, s.key);
      const HeadMatrix v = read_head(args.value, d, kv, s.value);
      s.dkey.start(d);
      s.dvalue.start(d);
      for (std::int64_t g = 0; g < group; ++g) backward_head(args, {kv.batch, kv.head * group + g}, k, v, s);
      s.dkey.finish(args.dkey, d, kv);
      s.dvalue.finish(args.dvalue, d, kv);
    }
  }
}

}  // namespace perfbench::engine::cpu
