// Attention in tiles: no buffer grows with the square of the sequence. Forward keeps a running maximum and sum per row
// (Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022),
// backward computes each tile's probabilities again from the rows' logsumexp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops/cpu/attention.h"
#include "engine/ops/cpu/attention_heads.h"
#include "engine/ops/cpu/numerics.h"
#include "engine/ops/cpu/sgemm.h"

namespace perfbench::engine::cpu {
namespace {

// A tile of scores is 128 KiB of f32: with its rows of query, key and value it stays in a second-level cache.
constexpr std::int64_t kRows = 128;
constexpr std::int64_t kColumns = 256;

struct Tile {
  std::int64_t i0 = 0;
  std::int64_t rows = 0;
  std::int64_t j0 = 0;
  std::int64_t columns = 0;

  // Columns that row i may see, counted from j0.
  std::int64_t seen(std::int64_t i) const { return std::clamp<std::int64_t>(i + 1 - j0, 0, columns); }
};

void scores(const Tile& tile, const HeadMatrix& q, const HeadMatrix& k, std::int64_t head_dim, float* out) {
  sgemm({.transpose_b = true,
         .m = tile.rows,
         .n = tile.columns,
         .k = head_dim,
         .a = q.row(tile.i0),
         .lda = q.stride,
         .b = k.row(tile.j0),
         .ldb = k.stride,
         .c = out,
         .ldc = kColumns});
}

struct RowState {
  float largest[kRows];
  float sum[kRows];
};

// Turns the tile's scores into exp(score - largest) and rescales what the rows hold already.
void online_softmax(const Tile& tile, float scale, float* tile_scores, RowState& state, float* context,
                    std::int64_t head_dim) {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    float* row = tile_scores + r * kColumns;
    const std::int64_t seen = tile.seen(tile.i0 + r);
    if (seen > 0) {
      const float largest = std::max(state.largest[r], row_max(row, seen) * scale);
      // The first tile of a row finds -infinity: its factor is exp(-inf) = 0.
      const float keep = std::exp(state.largest[r] - largest);
      const float sum = lane_sum(seen, [=](std::int64_t j) {
        const float e = exp_f32(row[j] * scale - largest);
        row[j] = e;
        return e;
      });
      state.sum[r] = state.sum[r] * keep + sum;
      state.largest[r] = largest;
      if (keep != 1.0F) {
        for (std::int64_t c = 0; c < head_dim; ++c) context[r * head_dim + c] *= keep;
      }
    }
    std::fill(row + seen, row + tile.columns, 0.0F);
  }
}

void forward_rows(const AttentionForwardArgs& args, HeadPlace at, std::int64_t i0, HeadScratch& s) {
  const auto& d = args.dims;
  const HeadPlace kv{at.batch, at.head / (d.n_heads / d.n_kv_heads)};
  const HeadMatrix q = read_head(args.query, d, at, s.query);
  const HeadMatrix k = read_head(args.key, d, kv, s.key);
  const HeadMatrix v = read_head(args.value, d, kv, s.value);
  const float scale = 1.0F / std::sqrt(static_cast<float>(d.head_dim));
  const std::int64_t rows = std::min(kRows, d.seq_len - i0);
  s.scores.resize(kRows * kColumns);
  s.context.assign(static_cast<std::size_t>(rows * d.head_dim), 0.0F);
  RowState state;
  std::fill(state.largest, state.largest + kRows, -std::numeric_limits<float>::infinity());
  std::fill(state.sum, state.sum + kRows, 0.0F);
  for (std::int64_t j0 = 0; j0 < i0 + rows; j0 += kColumns) {
    const Tile tile{i0, rows, j0, std::min(kColumns, i0 + rows - j0)};
    scores(tile, q, k, d.head_dim, s.scores.data());
    online_softmax(tile, scale, s.scores.data(), state, s.context.data(), d.head_dim);
    sgemm({.m = rows,
           .n = d.head_dim,
           .k = tile.columns,
           .a = s.scores.data(),
           .lda = kColumns,
           .b = v.row(j0),
           .ldb = v.stride,
           .beta = 1.0F,
           .c = s.context.data(),
           .ldc = d.head_dim});
  }
  const std::int64_t width = args.context.shape[1];
  const std::int64_t first = (at.batch * d.seq_len + i0) * width + at.head * d.head_dim;
  float* lse = args.logsumexp_BHT.as<float>() + (at.batch * d.n_heads + at.head) * d.seq_len + i0;
  for (std::int64_t r = 0; r < rows; ++r) {
    float* row = s.context.data() + r * d.head_dim;
    const float inverse = 1.0F / state.sum[r];
    for (std::int64_t c = 0; c < d.head_dim; ++c) row[c] *= inverse;
    lse[r] = state.largest[r] + std::log(state.sum[r]);
    if (args.context.dtype == DType::f32) {
      std::copy(row, row + d.head_dim, args.context.as<float>() + first + r * width);
    } else {
      narrow(row, args.context.as<Bf16>() + first + r * width, d.head_dim);
    }
  }
}

// delta[i] = sum_c dcontext[i, c] context[i, c] = sum_j p[i, j] dp[i, j].
void row_deltas(const HeadMatrix& dcontext, const HeadMatrix& context, const AttentionDims& d,
                std::vector<float>& delta) {
  delta.resize(static_cast<std::size_t>(d.seq_len));
  for (std::int64_t i = 0; i < d.seq_len; ++i) {
    const float* a = dcontext.row(i);
    const float* b = context.row(i);
    delta[static_cast<std::size_t>(i)] = lane_sum(d.head_dim, [=](std::int64_t c) { return a[c] * b[c]; });
  }
}

struct BackwardHead {
  HeadMatrix q;
  HeadMatrix k;
  HeadMatrix v;
  HeadMatrix dcontext;
  const float* logsumexp = nullptr;
  const float* delta = nullptr;
  float scale = 1;
};

void backward_tile(const Tile& tile, const BackwardHead& h, std::int64_t head_dim, HeadScratch& s) {
  float* p = s.scores.data();
  float* ds = s.dscores.data();
  scores(tile, h.q, h.k, head_dim, p);
  scores(tile, h.dcontext, h.v, head_dim, ds);
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const std::int64_t i = tile.i0 + r;
    const std::int64_t seen = tile.seen(i);
    float* p_row = p + r * kColumns;
    float* ds_row = ds + r * kColumns;
    const float lse = h.logsumexp[i];
    const float delta = h.delta[i];
    for (std::int64_t j = 0; j < seen; ++j) {
      const float e = exp_f32(p_row[j] * h.scale - lse);
      p_row[j] = e;
      ds_row[j] = e * (ds_row[j] - delta) * h.scale;
    }
    std::fill(p_row + seen, p_row + tile.columns, 0.0F);
    std::fill(ds_row + seen, ds_row + tile.columns, 0.0F);
  }
  const std::int64_t d = head_dim;
  sgemm({.transpose_a = true,
         .m = tile.columns,
         .n = d,
         .k = tile.rows,
         .a = p,
         .lda = kColumns,
         .b = h.dcontext.row(tile.i0),
         .ldb = h.dcontext.stride,
         .beta = 1.0F,
         .c = s.dvalue.data() + tile.j0 * d,
         .ldc = d});
  sgemm({.transpose_a = true,
         .m = tile.columns,
         .n = d,
         .k = tile.rows,
         .a = ds,
         .lda = kColumns,
         .b = h.q.row(tile.i0),
         .ldb = h.q.stride,
         .beta = 1.0F,
         .c = s.dkey.data() + tile.j0 * d,
         .ldc = d});
  sgemm({.m = tile.rows,
         .n = d,
         .k = tile.columns,
         .a = ds,
         .lda = kColumns,
         .b = h.k.row(tile.j0),
         .ldb = h.k.stride,
         .beta = 1.0F,
         .c = s.dquery.data() + tile.i0 * d,
         .ldc = d});
}

void backward_head(const AttentionBackwardArgs& args, HeadPlace at, HeadMatrix k, HeadMatrix v, HeadScratch& s) {
  const auto& d = args.dims;
  const BackwardHead h{.q = read_head(args.query, d, at, s.query),
                       .k = k,
                       .v = v,
                       .dcontext = read_head(args.dcontext, d, at, s.dcontext),
                       .logsumexp = args.logsumexp_BHT.as<float>() + (at.batch * d.n_heads + at.head) * d.seq_len,
                       .scale = 1.0F / std::sqrt(static_cast<float>(d.head_dim))};
  row_deltas(h.dcontext, read_head(args.context, d, at, s.context), d, s.delta);
  BackwardHead ready = h;
  ready.delta = s.delta.data();
  s.scores.resize(kRows * kColumns);
  s.dscores.resize(kRows * kColumns);
  s.dquery.start(d);
  for (std::int64_t i0 = 0; i0 < d.seq_len; i0 += kRows) {
    const std::int64_t rows = std::min(kRows, d.seq_len - i0);
    for (std::int64_t j0 = 0; j0 < i0 + rows; j0 += kColumns) {
      backward_tile({i0, rows, j0, std::min(kColumns, i0 + rows - j0)}, ready, d.head_dim, s);
    }
  }
  s.dquery.finish(args.dquery, d, at);
}

}  // namespace

// Blocks of rows over threads, the longest (latest) first.
void flash_forward(const AttentionForwardArgs& args) {
  const auto& d = args.dims;
  const std::int64_t blocks = (d.seq_len + kRows - 1) / kRows;
#pragma omp parallel
  {
    HeadScratch scratch;
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < blocks * d.batch * d.n_heads; ++i) {
      const std::int64_t block = blocks - 1 - i / (d.batch * d.n_heads);
      const std::int64_t head = i % (d.batch * d.n_heads);
      forward_rows(args, {head / d.n_heads, head % d.n_heads}, block * kRows, scratch);
    }
  }
}

// Key/value heads over threads: every sum into dk and dv has one order.
void flash_backward(const AttentionBackwardArgs& args) {
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
