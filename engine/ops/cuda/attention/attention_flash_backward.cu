// Flash attention, backward, without atomics, so that the bits are the same in every run: one kernel walks over the
// queries for a tile of keys, another one over the keys for a tile of queries, at the price of computing the scores
// twice. For a pair (query r, key c):
//   weight = exp(score - logsumexp[r]), at most 1
//   dscore = weight * (dcontext[r] . value[c] - delta[r]), delta[r] = dcontext[r] . context[r]
//   dvalue[c] += weight dcontext[r]; dkey[c] += scale dscore query[r]; dquery[r] += scale dscore key[c]
//   dbias[r - c] += dscore, with a bias: a tile of queries sums up its own, and a third kernel sums the tiles
#include "engine/ops/cuda/attention/attention_flash.h"
#include "engine/ops/cuda/attention/distance_sums.h"
#include "engine/ops/cuda/attention/flash_launch.cuh"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

struct BackwardOperands {
  FlashProblem problem;
  HeadsOperand query;
  HeadsOperand key;
  HeadsOperand value;
  HeadsOperand context;
  HeadsOperand dcontext;
  const float* logsumexp;
  float* delta;
  HeadsOperand dquery;
  HeadsOperand dkey;
  HeadsOperand dvalue;
  const float* bias;            // [H, T], or null
  float* distance_sums;         // [B, H, tiles of queries, T], with a bias
  const std::int32_t* first_N;  // where documents begin, or null
};

template <class Units, int kWidth>
struct DeltaShape {
  using T = typename Units::Element;
  static constexpr int kRow = kWidth + Units::kPad;

  struct Offsets {
    std::size_t dcontext, context, places, bytes;
  };
  static constexpr Offsets offsets() {
    SharedLayout layout;
    Offsets o{};
    o.dcontext = layout.take(kTile * kRow * sizeof(T));
    o.context = layout.take(kTile * kRow * sizeof(T));
    o.places = layout.take(kTile * kTile * sizeof(float));
    o.bytes = layout.bytes();
    return o;
  }
  static constexpr Offsets kOffsets = offsets();
};

// delta of 16 rows of a head: the diagonal of the product that gives dweights, with the context as values. So its sums
// have the same order: if a query sees only one key, its context is that key's value, and delta must equal dweight. A
// difference in rounding would be multiplied by queries and keys, which are large where scores are.
template <class Units, int kWidth>
__global__ void __launch_bounds__(kWarp) delta_kernel(BackwardOperands operands) {
  using Shape = DeltaShape<Units, kWidth>;
  using T = typename Shape::T;
  PERFBENCH_DYNAMIC_SHARED(unsigned char, shared);
  unsigned char* const memory = shared;
  T* const dcontext = reinterpret_cast<T*>(memory + Shape::kOffsets.dcontext);
  T* const context = reinterpret_cast<T*>(memory + Shape::kOffsets.context);
  const FlashProblem& problem = operands.problem;
  const AttentionDims& d = problem.dims;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t head = blockIdx.x;
  const std::int64_t batch = blockIdx.z;
  load_tile<Units, kTile, kWidth, kWarp>(dcontext, problem, head_rows<const T>(operands.dcontext, d, batch, head), row);
  load_tile<Units, kTile, kWidth, kWarp>(context, problem, head_rows<const T>(operands.context, d, batch, head), row);
  const Places places = Units::find_places(reinterpret_cast<float*>(memory + Shape::kOffsets.places));
  wait_for_copies();
  __syncthreads();
  typename Units::Accumulator products[1];
  score_tiles<Units, kWidth, Shape::kRow>(products, dcontext, context);
  for (int i = 0; i < kLaneElements; ++i) {
    const int r = places.row(i);
    if (r != places.column(i) || row + r >= d.seq_len) continue;
    operands.delta[statistics_row(d, batch, head) + row + r] = products[0].x[i];
  }
}

// The values of a query's row that the backward pass needs beside its vectors.
struct QueryStatistics {
  float logsumexp;
  float delta;
  std::int32_t first;  // first key that it sees
};

// Loads rows [first, first + kRows); for rows beyond the end every weight becomes 0.
template <int kRows, int kThreads>
__device__ void load_statistics(QueryStatistics* to, const BackwardOperands& operands, std::int64_t batch,
                                std::int64_t head, std::int64_t first) {
  const std::int64_t statistics = statistics_row(operands.problem.dims, batch, head);
  const std::int32_t* const first_T = document_starts(operands.first_N, operands.problem.dims, batch);
  for (int i = static_cast<int>(threadIdx.x); i < kRows; i += kThreads) {
    const bool present = first + i < operands.problem.dims.seq_len;
    to[i] = {.logsumexp = present ? operands.logsumexp[statistics + first + i] : INFINITY,
             .delta = present ? operands.delta[statistics + first + i] : 0.0F,
             .first = present && first_T != nullptr ? first_T[first + i] : 0};
  }
}

struct PairGradient {
  float weight;
  float dscore;
};
// dweight is dcontext . value.
__device__ inline PairGradient pair_gradient(float score, float dweight, const QueryStatistics& row) {
  const float difference = score - row.logsumexp;
  const float weight = exp_of_difference(difference > 0 ? 0.0F : difference);  // not fminf, so that a NaN stays
  return {weight, weight * (dweight - row.delta)};
}

// The place of a warp's scores: queries from `query` on and keys from `key` on.
struct PairTile {
  std::int64_t query;
  std::int64_t key;
  const QueryStatistics* statistics;  // from `query` on
  float scale;
  const Places& places;
  const float* bias;           // [T] of the head, or null
  std::int64_t last_distance;  // T - 1; queries beyond the end are further away
};

// Whether the rows of a warp's scores are queries or keys; the columns are the others.
enum class ScoreRows { queries, keys };

// Where the vectors begin whose products are scores, and those whose products are dweights: queries and dcontext, or
// keys and values.
template <class T>
struct PairVectors {
  const T* of_scores;
  const T* of_dweights;
};

// For a warp's 16 rows and kTiles * 16 columns, calls write(row, column, pair) for the lane's pairs; pairs that do not
// see each other have no gradient.
template <ScoreRows kRows, bool kHasBias, class Units, int kWidth, int kTiles, class Write>
__device__ void for_each_pair(const PairVectors<typename Units::Element>& rows,
                              const PairVectors<typename Units::Element>& columns, const PairTile& tile, Write write) {
  constexpr int kRow = kWidth + Units::kPad;
  typename Units::Accumulator scores[kTiles];
  typename Units::Accumulator dweights[kTiles];
  score_tiles<Units, kWidth, kRow>(scores, rows.of_scores, columns.of_scores);
  score_tiles<Units, kWidth, kRow>(dweights, rows.of_dweights, columns.of_dweights);
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (int i = 0; i < kLaneElements; ++i) {
      const int row = tile.places.row(i);
      const int column = j * kTile + tile.places.column(i);
      const int query = kRows == ScoreRows::queries ? row : column;
      const int key = kRows == ScoreRows::queries ? column : row;
      const QueryStatistics& statistics = tile.statistics[query];
      const bool visible = tile.key + key <= tile.query + query && tile.key + key >= statistics.first;
      float score = scaled_score(scores[j].x[i], tile.scale);
      if constexpr (kHasBias) {
        if (visible) score += tile.bias[min(tile.query + query - tile.key - key, tile.last_distance)];
      }
      const auto pair = pair_gradient(score, dweights[j].x[i], statistics);
      write(row, column, visible ? pair : PairGradient{0.0F, 0.0F});
    }
  }
}

template <class Units, int kWidth>
struct QueryShape {
  using T = typename Units::Element;
  static constexpr bool kSmall = sizeof(T) == 2;
  static constexpr int kWarps = kSmall || kWidth <= 128 ? 4 : 2;
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kQueries = kWarps * kTile;
  static constexpr int kKeys = kSmall ? 32 : 16;
  static constexpr int kRow = kWidth + Units::kPad;
  static constexpr int kScoreRow = kKeys + 8;
  static constexpr int kKeyTile = kKeys * kRow;  // elements

  struct Offsets {
    std::size_t query, dcontext, key, value, dscores, places, statistics, bytes;
  };
  static constexpr Offsets offsets() {
    SharedLayout layout;
    Offsets o{};
    o.query = layout.take(kQueries * kRow * sizeof(T));
    o.dcontext = layout.take(kQueries * kRow * sizeof(T));
    o.key = layout.take(2 * kKeyTile * sizeof(T));
    o.value = layout.take(2 * kKeyTile * sizeof(T));
    o.dscores = layout.take(kQueries * kScoreRow * sizeof(T));
    o.places = layout.take(kWarps * kTile * kTile * sizeof(float));
    o.statistics = layout.take(kQueries * sizeof(QueryStatistics));
    o.bytes = layout.bytes();
    return o;
  }
  static constexpr Offsets kOffsets = offsets();
};

// Adds a block's gradients of scores, for queries from `row` and keys from `first` on, to its sums by distance. A
// thread has one diagonal. For the next keys a distance belongs to another thread, so a barrier must separate them.
template <class Shape>
__device__ void add_by_distance(float* sums, const typename Shape::T* dscores, std::int64_t row, std::int64_t first,
                                std::int64_t seq_len) {
  static_assert(Shape::kThreads >= Shape::kQueries + Shape::kKeys - 1);
  const int diagonal = static_cast<int>(threadIdx.x) - (Shape::kKeys - 1);  // r - c
  const std::int64_t distance = row - first + diagonal;
  if (diagonal >= Shape::kQueries || distance < 0 || distance >= seq_len) return;
  float sum = 0;
  for (int c = max(-diagonal, 0); c < min(Shape::kKeys, Shape::kQueries - diagonal); ++c) {
    sum += to_f32(dscores[(c + diagonal) * Shape::kScoreRow + c]);
  }
  sums[distance] += sum;
}

// Computes dquery of a tile of queries of one head. Keys arrive in two tiles that alternate.
template <class Units, int kWidth, bool kHasBias>
__global__ void __launch_bounds__((QueryShape<Units, kWidth>::kThreads)) dquery_kernel(BackwardOperands operands) {
  using Shape = QueryShape<Units, kWidth>;
  using T = typename Shape::T;
  using Accumulator = typename Units::Accumulator;
  PERFBENCH_DYNAMIC_SHARED(unsigned char, shared);
  unsigned char* const memory = shared;
  T* const query = reinterpret_cast<T*>(memory + Shape::kOffsets.query);
  T* const dcontext = reinterpret_cast<T*>(memory + Shape::kOffsets.dcontext);
  T* const key_tiles = reinterpret_cast<T*>(memory + Shape::kOffsets.key);
  T* const value_tiles = reinterpret_cast<T*>(memory + Shape::kOffsets.value);

  const FlashProblem& problem = operands.problem;
  const AttentionDims& d = problem.dims;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t row = static_cast<std::int64_t>(gridDim.y - 1 - blockIdx.y) * Shape::kQueries;
  const std::int64_t head = blockIdx.x;
  const std::int64_t batch = blockIdx.z;
  const std::int64_t kv_head = head / (d.n_heads / d.n_kv_heads);
  const std::int64_t end = min(row + Shape::kQueries, d.seq_len);  // end of the keys
  const auto load_keys = [&](std::int64_t first, int turn) {
    load_tile<Units, Shape::kKeys, kWidth, Shape::kThreads>(key_tiles + turn * Shape::kKeyTile, problem,
                                                            head_rows<const T>(operands.key, d, batch, kv_head), first);
    load_tile<Units, Shape::kKeys, kWidth, Shape::kThreads>(
        value_tiles + turn * Shape::kKeyTile, problem, head_rows<const T>(operands.value, d, batch, kv_head), first);
  };

  const T* const my_query = query + warp * kTile * Shape::kRow;
  const T* const my_dcontext = dcontext + warp * kTile * Shape::kRow;
  T* const all_dscores = reinterpret_cast<T*>(memory + Shape::kOffsets.dscores);
  T* const dscores = all_dscores + warp * kTile * Shape::kScoreRow;
  QueryStatistics* const statistics = reinterpret_cast<QueryStatistics*>(memory + Shape::kOffsets.statistics);
  const Places places =
      Units::find_places(reinterpret_cast<float*>(memory + Shape::kOffsets.places) + warp * kTile * kTile);
  const std::int64_t my_row = row + warp * kTile;
  Accumulator dquery[kWidth / kTile];
  clear_tiles<Units>(dquery);

  load_tile<Units, Shape::kQueries, kWidth, Shape::kThreads>(query, problem,
                                                             head_rows<const T>(operands.query, d, batch, head), row);
  load_tile<Units, Shape::kQueries, kWidth, Shape::kThreads>(
      dcontext, problem, head_rows<const T>(operands.dcontext, d, batch, head), row);
  load_statistics<Shape::kQueries, Shape::kThreads>(statistics, operands, batch, head, row);
  const std::int64_t begin = first_key_tile(document_starts(operands.first_N, d, batch), row, Shape::kKeys);
  load_keys(begin, 0);
  const float* const bias = kHasBias ? operands.bias + head * d.seq_len : nullptr;
  float* sums = nullptr;
  if constexpr (kHasBias) {
    const std::int64_t tile = (batch * d.n_heads + head) * gridDim.y + row / Shape::kQueries;
    sums = operands.distance_sums + tile * d.seq_len;
    for (std::int64_t i = threadIdx.x; i < end; i += Shape::kThreads) sums[i] = 0.0F;
  }
  int turn = 0;
  for (std::int64_t first = begin; first < end; first += Shape::kKeys, turn ^= 1) {
    wait_for_copies();
    __syncthreads();  // this turn's keys have arrived, and no thread reads the other turn's any more
    if (first + Shape::kKeys < end) load_keys(first + Shape::kKeys, turn ^ 1);
    const T* const key = key_tiles + turn * Shape::kKeyTile;
    const T* const value = value_tiles + turn * Shape::kKeyTile;
    for_each_pair<ScoreRows::queries, kHasBias, Units, kWidth, Shape::kKeys / kTile>(
        {my_query, my_dcontext}, {key, value},
        {my_row, first, statistics + warp * kTile, d.score_factor, places, bias, d.seq_len - 1},
        [&](int r, int c, const PairGradient& pair) { dscores[r * Shape::kScoreRow + c] = from_f32<T>(pair.dscore); });
    __syncwarp();
    add_value_tiles<Units, Shape::kKeys, Shape::kScoreRow, Shape::kRow>(dquery, dscores, key);
    if constexpr (kHasBias) {
      __syncthreads();  // the gradients of all warps have been written
      add_by_distance<Shape>(sums, all_dscores, row, first, d.seq_len);
    }
    __syncwarp();
  }
  write_rows<Units>(head_rows<T>(operands.dquery, d, batch, head), problem, my_row, 0, dquery, d.score_factor, places);
}

template <class Units, int kWidth>
struct KeyShape {
  using T = typename Units::Element;
  static constexpr bool kSmall = sizeof(T) == 2;
  // A warp sums up dkey and dvalue of 16 keys and one slice of their width: more does not fit into its registers.
  static constexpr int kSlice = kWidth < 128 ? kWidth : 128;
  static constexpr int kSlices = kWidth / kSlice;
  static constexpr int kKeyWarps = kSmall || kWidth <= 128 ? 4 : 2;
  static constexpr int kWarps = kKeyWarps * kSlices;
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kKeys = kKeyWarps * kTile;
  static constexpr int kQueries = kSmall ? 32 : 16;
  static constexpr int kRow = kWidth + Units::kPad;
  static constexpr int kScoreRow = kQueries + 8;
  static constexpr int kQueryTile = kQueries * kRow;    // elements
  static constexpr int kScoreTile = kTile * kScoreRow;  // elements

  struct Offsets {
    std::size_t key, value, query, dcontext, weights, dscores, places, statistics, bytes;
  };
  static constexpr Offsets offsets() {
    SharedLayout layout;
    Offsets o{};
    o.key = layout.take(kKeys * kRow * sizeof(T));
    o.value = layout.take(kKeys * kRow * sizeof(T));
    o.query = layout.take(2 * kQueryTile * sizeof(T));
    o.dcontext = layout.take(2 * kQueryTile * sizeof(T));
    o.weights = layout.take(kWarps * kScoreTile * sizeof(T));
    o.dscores = layout.take(kWarps * kScoreTile * sizeof(T));
    o.places = layout.take(kWarps * kTile * kTile * sizeof(float));
    o.statistics = layout.take(2 * kQueries * sizeof(QueryStatistics));
    o.bytes = layout.bytes();
    return o;
  }
  static constexpr Offsets kOffsets = offsets();
};

// The end of the last document that has keys before `end`: no later query sees them. first_T: where documents of the
// sequence begin, or null; first_key: one of the keys.
__device__ inline std::int64_t end_of_queries(const std::int32_t* first_T, std::int64_t first_key, std::int64_t end,
                                              std::int64_t seq_len) {
  if (first_T == nullptr) return seq_len;
  std::int64_t seeing = first_key;  // sees one of the keys; later rows up to `not_seeing` may
  std::int64_t not_seeing = seq_len;
  while (not_seeing - seeing > 1) {
    const std::int64_t middle = seeing + (not_seeing - seeing) / 2;
    (first_T[middle] < end ? seeing : not_seeing) = middle;
  }
  return not_seeing;
}

// The tiles of queries that see a tile of keys: those of one head after another.
struct QueryWalk {
  std::int64_t first_head;
  std::int64_t first_row;
  std::int64_t steps_per_head;
  std::int64_t steps;
  int rows;

  __device__ QueryWalk(const AttentionDims& d, std::int64_t kv_head, std::int64_t first_key, std::int64_t end,
                       int rows_of_tile)
      : first_head(kv_head * (d.n_heads / d.n_kv_heads)),
        first_row(first_key / rows_of_tile * rows_of_tile),
        steps_per_head(divide_up(end - first_row, rows_of_tile)),
        steps(d.n_heads / d.n_kv_heads * steps_per_head),
        rows(rows_of_tile) {}
  __device__ std::int64_t head(std::int64_t step) const { return first_head + step / steps_per_head; }
  __device__ std::int64_t row(std::int64_t step) const { return first_row + step % steps_per_head * rows; }
};

// Computes dkey and dvalue of a tile of keys of one key/value head: over the heads of its group in order, and over the
// queries from the diagonal on. Scores are transposed, [keys, queries]. Queries arrive in two tiles that alternate.
template <class Units, int kWidth, bool kHasBias>
__global__ void __launch_bounds__((KeyShape<Units, kWidth>::kThreads)) dkey_dvalue_kernel(BackwardOperands operands) {
  using Shape = KeyShape<Units, kWidth>;
  using T = typename Shape::T;
  using Accumulator = typename Units::Accumulator;
  PERFBENCH_DYNAMIC_SHARED(unsigned char, shared);
  unsigned char* const memory = shared;
  T* const key = reinterpret_cast<T*>(memory + Shape::kOffsets.key);
  T* const value = reinterpret_cast<T*>(memory + Shape::kOffsets.value);
  T* const query_tiles = reinterpret_cast<T*>(memory + Shape::kOffsets.query);
  T* const dcontext_tiles = reinterpret_cast<T*>(memory + Shape::kOffsets.dcontext);
  QueryStatistics* const statistics_tiles = reinterpret_cast<QueryStatistics*>(memory + Shape::kOffsets.statistics);

  const FlashProblem& problem = operands.problem;
  const AttentionDims& d = problem.dims;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int key_warp = warp % Shape::kKeyWarps;
  const int slice = warp / Shape::kKeyWarps * Shape::kSlice;
  // the first tiles have the most queries
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * Shape::kKeys;
  const std::int64_t kv_head = blockIdx.x;
  const std::int64_t batch = blockIdx.z;
  const std::int64_t end =
      end_of_queries(document_starts(operands.first_N, d, batch), first, first + Shape::kKeys, d.seq_len);
  const QueryWalk walk(d, kv_head, first, end, Shape::kQueries);
  const auto load_queries = [&](std::int64_t step, int turn) {
    const std::int64_t head = walk.head(step);
    const std::int64_t row = walk.row(step);
    load_tile<Units, Shape::kQueries, kWidth, Shape::kThreads>(query_tiles + turn * Shape::kQueryTile, problem,
                                                               head_rows<const T>(operands.query, d, batch, head), row);
    load_tile<Units, Shape::kQueries, kWidth, Shape::kThreads>(
        dcontext_tiles + turn * Shape::kQueryTile, problem, head_rows<const T>(operands.dcontext, d, batch, head), row);
    load_statistics<Shape::kQueries, Shape::kThreads>(statistics_tiles + turn * Shape::kQueries, operands, batch, head,
                                                      row);
  };

  const T* const my_key = key + key_warp * kTile * Shape::kRow;
  const T* const my_value = value + key_warp * kTile * Shape::kRow;
  T* const weights = reinterpret_cast<T*>(memory + Shape::kOffsets.weights) + warp * Shape::kScoreTile;
  T* const dscores = reinterpret_cast<T*>(memory + Shape::kOffsets.dscores) + warp * Shape::kScoreTile;
  const Places places =
      Units::find_places(reinterpret_cast<float*>(memory + Shape::kOffsets.places) + warp * kTile * kTile);
  const std::int64_t my_first = first + key_warp * kTile;
  Accumulator dkey[Shape::kSlice / kTile];
  Accumulator dvalue[Shape::kSlice / kTile];
  clear_tiles<Units>(dkey);
  clear_tiles<Units>(dvalue);

  load_tile<Units, Shape::kKeys, kWidth, Shape::kThreads>(key, problem,
                                                          head_rows<const T>(operands.key, d, batch, kv_head), first);
  load_tile<Units, Shape::kKeys, kWidth, Shape::kThreads>(value, problem,
                                                          head_rows<const T>(operands.value, d, batch, kv_head), first);
  load_queries(0, 0);
  int turn = 0;
  for (std::int64_t step = 0; step < walk.steps; ++step, turn ^= 1) {
    wait_for_copies();
    __syncthreads();  // this turn's queries have arrived, and no thread reads the other turn's any more
    if (step + 1 < walk.steps) load_queries(step + 1, turn ^ 1);
    const T* const query = query_tiles + turn * Shape::kQueryTile;
    const T* const dcontext = dcontext_tiles + turn * Shape::kQueryTile;
    const float* const bias = kHasBias ? operands.bias + walk.head(step) * d.seq_len : nullptr;
    for_each_pair<ScoreRows::keys, kHasBias, Units, kWidth, Shape::kQueries / kTile>(
        {my_key, my_value}, {query, dcontext},
        {walk.row(step), my_first, statistics_tiles + turn * Shape::kQueries, d.score_factor, places, bias,
         d.seq_len - 1},
        [&](int c, int r, const PairGradient& pair) {
          weights[c * Shape::kScoreRow + r] = from_f32<T>(pair.weight);
          dscores[c * Shape::kScoreRow + r] = from_f32<T>(pair.dscore);
        });
    __syncwarp();
    add_value_tiles<Units, Shape::kQueries, Shape::kScoreRow, Shape::kRow>(dvalue, weights, dcontext + slice);
    add_value_tiles<Units, Shape::kQueries, Shape::kScoreRow, Shape::kRow>(dkey, dscores, query + slice);
    __syncwarp();
  }
  write_rows<Units>(head_rows<T>(operands.dkey, d, batch, kv_head), problem, my_first, slice, dkey, d.score_factor,
                    places);
  write_rows<Units>(head_rows<T>(operands.dvalue, d, batch, kv_head), problem, my_first, slice, dvalue, 1.0F, places);
}

template <class Units, int kWidth, bool kHasBias>
void launch_backward(const BackwardOperands& operands, cudaStream_t stream) {
  using Queries = QueryShape<Units, kWidth>;
  using Keys = KeyShape<Units, kWidth>;
  const AttentionDims& d = operands.problem.dims;
  const auto batch = static_cast<unsigned>(d.batch);
  const auto heads = static_cast<unsigned>(d.n_heads);
  const auto kv_heads = static_cast<unsigned>(d.n_kv_heads);
  launch("flash_delta", delta_kernel<Units, kWidth>,
         {.grid = dim3(heads, tiles_of(d.seq_len, kTile), batch),
          .block = dim3(kWarp),
          .shared_bytes = DeltaShape<Units, kWidth>::kOffsets.bytes,
          .stream = stream},
         operands);
  launch("flash_dkey_dvalue", dkey_dvalue_kernel<Units, kWidth, kHasBias>,
         {.grid = dim3(kv_heads, tiles_of(d.seq_len, Keys::kKeys), batch),
          .block = dim3(Keys::kThreads),
          .shared_bytes = Keys::kOffsets.bytes,
          .stream = stream},
         operands);
  launch("flash_dquery", dquery_kernel<Units, kWidth, kHasBias>,
         {.grid = dim3(heads, tiles_of(d.seq_len, Queries::kQueries), batch),
          .block = dim3(Queries::kThreads),
          .shared_bytes = Queries::kOffsets.bytes,
          .stream = stream},
         operands);
}

}  // namespace

void flash_backward(const AttentionBackwardArgs& args, void* scratch, cudaStream_t stream) {
  const auto& d = args.dims;
  float* const delta = static_cast<float*>(scratch);
  const BackwardOperands operands{
      .problem = flash_problem(d, {args.query, args.key, args.value, args.context, args.dcontext}),
      .query = heads_operand(args.query),
      .key = heads_operand(args.key),
      .value = heads_operand(args.value),
      .context = heads_operand(args.context),
      .dcontext = heads_operand(args.dcontext),
      .logsumexp = args.logsumexp_BHT.as<const float>(),
      .delta = delta,
      .dquery = heads_operand(args.dquery),
      .dkey = heads_operand(args.dkey),
      .dvalue = heads_operand(args.dvalue),
      .bias = args.bias_HT.as<const float>(),
      .distance_sums = delta + args.logsumexp_BHT.elements(),
      .first_N = args.first_N.as<const std::int32_t>(),
  };
  with_tile_width(d.head_dim, args.query.dtype, [&]<class Units, int kWidth>() {
    if (operands.bias == nullptr) return launch_backward<Units, kWidth, false>(operands, stream);
    using Queries = QueryShape<Units, kWidth>;
    static_assert(Queries::kQueries == workspace::flash_query_rows(kWidth, Queries::kSmall ? DType::bf16 : DType::f32));
    launch_backward<Units, kWidth, true>(operands, stream);
    sum_tiles_by_distance(args.dbias_BHT, operands.distance_sums, Queries::kQueries, stream);
  });
}

}  // namespace perfbench::engine::cuda
