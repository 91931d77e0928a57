// Flash attention backward, without atomics, so that the bits are the same in every run: one kernel walks over the
// queries for a tile of keys, another one over the keys for a tile of queries, at the price of computing the scores
// twice. Of a pair (query r, key c):
//   weight = exp(score - logsumexp[r])
//   dscore = weight * (dcontext[r] . value[c] - delta[r]), delta[r] = dcontext[r] . context[r]
//   dvalue[c] += weight dcontext[r]; dkey[c] += scale dscore query[r]; dquery[r] += scale dscore key[c]
#include "engine/ops/cuda/attention_flash.h"
#include "engine/ops/cuda/flash_launch.cuh"

namespace perfbench::engine::cuda {
namespace {

struct BackwardOperands {
  FlashProblem problem;
  const void* query;
  const void* key;
  const void* value;
  const void* context;
  const void* dcontext;
  const float* logsumexp;
  float* delta;
  void* dquery;
  void* dkey;
  void* dvalue;
};

// delta: a warp for each row of a head.
constexpr int kDeltaRows = 4;

template <class T>
__global__ void delta_kernel(BackwardOperands operands) {
  const AttentionDims& d = operands.problem.dims;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kDeltaRows + threadIdx.x / kWarp;
  const std::int64_t head = blockIdx.y;
  const std::int64_t batch = blockIdx.z;
  if (row >= d.seq_len) return;
  const T* const context = head_rows(static_cast<const T*>(operands.context), d, d.n_heads, batch, head).row(row);
  const T* const dcontext = head_rows(static_cast<const T*>(operands.dcontext), d, d.n_heads, batch, head).row(row);
  float sum = 0;
  for (std::int64_t i = lane; i < d.head_dim; i += kWarp) sum += to_f32(context[i]) * to_f32(dcontext[i]);
  sum = over_warp(sum, Sum{});
  if (lane == 0) operands.delta[statistics_row(d, batch, head) + row] = sum;
}

// What the backward pass needs of a query's row beside its vectors.
struct RowStatistics {
  float log2_sum;  // logsumexp to base 2
  float delta;
};

// Rows [first, first + kRows); of rows that do not exist every weight becomes 0.
template <int kRows, int kThreads>
__device__ void load_statistics(RowStatistics* to, const BackwardOperands& operands, std::int64_t statistics,
                                std::int64_t first) {
  for (int i = static_cast<int>(threadIdx.x); i < kRows; i += kThreads) {
    const bool present = first + i < operands.problem.dims.seq_len;
    to[i] = {.log2_sum = present ? operands.logsumexp[statistics + first + i] * kLog2E : INFINITY,
             .delta = present ? operands.delta[statistics + first + i] : 0.0F};
  }
}

struct PairGradient {
  float weight;
  float dscore;
};
// score: of query and key, not scaled; dweight: dcontext . value.
__device__ inline PairGradient pair_gradient(float score, float dweight, const RowStatistics& row, float log2_scale) {
  const float weight = exp2f(score * log2_scale - row.log2_sum);
  return {weight, weight * (dweight - row.delta)};
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
    o.statistics = layout.take(kQueries * sizeof(RowStatistics));
    o.bytes = layout.bytes();
    return o;
  }
  static constexpr Offsets kOffsets = offsets();
};

// dquery of a tile of queries of one head. Keys arrive in two tiles by turns.
template <class Units, int kWidth>
__global__ void __launch_bounds__((QueryShape<Units, kWidth>::kThreads)) dquery_kernel(BackwardOperands operands) {
  using Shape = QueryShape<Units, kWidth>;
  using T = typename Shape::T;
  using Accumulator = typename Units::Accumulator;
  constexpr int kSubtiles = Shape::kKeys / kTile;
  PERFBENCH_DYNAMIC_SHARED(unsigned char, shared);
  unsigned char* const memory = shared;
  T* const query = reinterpret_cast<T*>(memory + Shape::kOffsets.query);
  T* const dcontext = reinterpret_cast<T*>(memory + Shape::kOffsets.dcontext);
  T* const key_tiles = reinterpret_cast<T*>(memory + Shape::kOffsets.key);
  T* const value_tiles = reinterpret_cast<T*>(memory + Shape::kOffsets.value);

  const FlashProblem& problem = operands.problem;
  const AttentionDims& d = problem.dims;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t row = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * Shape::kQueries;
  const std::int64_t head = blockIdx.y;
  const std::int64_t batch = blockIdx.z;
  const std::int64_t kv_head = head / (d.n_heads / d.n_kv_heads);
  const std::int64_t end = min(row + Shape::kQueries, d.seq_len);  // of the keys
  const auto load_keys = [&](std::int64_t first, int turn) {
    load_tile<Units, Shape::kKeys, kWidth, Shape::kThreads>(
        key_tiles + turn * Shape::kKeyTile, problem,
        head_rows(static_cast<const T*>(operands.key), d, d.n_kv_heads, batch, kv_head), first);
    load_tile<Units, Shape::kKeys, kWidth, Shape::kThreads>(
        value_tiles + turn * Shape::kKeyTile, problem,
        head_rows(static_cast<const T*>(operands.value), d, d.n_kv_heads, batch, kv_head), first);
  };

  const T* const my_query = query + warp * kTile * Shape::kRow;
  const T* const my_dcontext = dcontext + warp * kTile * Shape::kRow;
  T* const dscores = reinterpret_cast<T*>(memory + Shape::kOffsets.dscores) + warp * kTile * Shape::kScoreRow;
  RowStatistics* const statistics = reinterpret_cast<RowStatistics*>(memory + Shape::kOffsets.statistics);
  const Places places =
      Units::find_places(reinterpret_cast<float*>(memory + Shape::kOffsets.places) + warp * kTile * kTile);
  const std::int64_t my_row = row + warp * kTile;
  const float log2_scale = problem.scale * kLog2E;
  Accumulator dquery[kWidth / kTile];
#pragma unroll
  for (auto& tile : dquery) Units::clear(tile);

  load_tile<Units, Shape::kQueries, kWidth, Shape::kThreads>(
      query, problem, head_rows(static_cast<const T*>(operands.query), d, d.n_heads, batch, head), row);
  load_tile<Units, Shape::kQueries, kWidth, Shape::kThreads>(
      dcontext, problem, head_rows(static_cast<const T*>(operands.dcontext), d, d.n_heads, batch, head), row);
  load_statistics<Shape::kQueries, Shape::kThreads>(statistics, operands, statistics_row(d, batch, head), row);
  load_keys(0, 0);
  int turn = 0;
  for (std::int64_t first = 0; first < end; first += Shape::kKeys, turn ^= 1) {
    wait_for_copies();
    __syncthreads();  // this turn's keys are there, and nobody reads the other turn's any more
    if (first + Shape::kKeys < end) load_keys(first + Shape::kKeys, turn ^ 1);
    const T* const key = key_tiles + turn * Shape::kKeyTile;
    const T* const value = value_tiles + turn * Shape::kKeyTile;
    Accumulator scores[kSubtiles];
    Accumulator dweights[kSubtiles];
#pragma unroll
    for (int j = 0; j < kSubtiles; ++j) {
      Units::clear(scores[j]);
      Units::clear(dweights[j]);
    }
#pragma unroll
    for (int k = 0; k < kWidth; k += kTile) {
      const auto left = Units::load(my_query + k, Shape::kRow);
      const auto dleft = Units::load(my_dcontext + k, Shape::kRow);
#pragma unroll
      for (int j = 0; j < kSubtiles; ++j) {
        Units::add_product_transposed(scores[j], left, key + j * kTile * Shape::kRow + k, Shape::kRow);
        Units::add_product_transposed(dweights[j], dleft, value + j * kTile * Shape::kRow + k, Shape::kRow);
      }
    }
#pragma unroll
    for (int j = 0; j < kSubtiles; ++j) {
#pragma unroll
      for (int i = 0; i < kLaneElements; ++i) {
        const int r = places.row(i);
        const int c = j * kTile + places.column(i);
        const auto pair = pair_gradient(scores[j].x[i], dweights[j].x[i], statistics[warp * kTile + r], log2_scale);
        const bool visible = first + c <= my_row + r;
        dscores[r * Shape::kScoreRow + c] = from_f32<T>(visible ? pair.dscore : 0.0F);
      }
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < Shape::kKeys; k += kTile) {
      const auto left = Units::load(dscores + k, Shape::kScoreRow);
#pragma unroll
      for (int j = 0; j < kWidth / kTile; ++j) {
        Units::add_product(dquery[j], left, key + k * Shape::kRow + j * kTile, Shape::kRow);
      }
    }
    __syncwarp();
  }
  write_rows<Units>(head_rows(static_cast<T*>(operands.dquery), d, d.n_heads, batch, head), problem, my_row, 0, dquery,
                    problem.scale, places);
}

template <class Units, int kWidth>
struct KeyShape {
  using T = typename Units::Element;
  static constexpr bool kSmall = sizeof(T) == 2;
  // A warp sums up dkey and dvalue of 16 keys and one slice of their width: more does not fit its registers.
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
    o.statistics = layout.take(2 * kQueries * sizeof(RowStatistics));
    o.bytes = layout.bytes();
    return o;
  }
  static constexpr Offsets kOffsets = offsets();
};

// One tile of queries of one head of the group.
struct QueryStep {
  std::int64_t head;
  std::int64_t row;
};

// dkey and dvalue of a tile of keys of one key/value head: over the heads of its group in their order, and over the
// queries from the diagonal on. Scores stand transposed, [keys, queries]. Queries arrive in two tiles by turns.
template <class Units, int kWidth>
__global__ void __launch_bounds__((KeyShape<Units, kWidth>::kThreads)) dkey_dvalue_kernel(BackwardOperands operands) {
  using Shape = KeyShape<Units, kWidth>;
  using T = typename Shape::T;
  using Accumulator = typename Units::Accumulator;
  constexpr int kSubtiles = Shape::kQueries / kTile;
  PERFBENCH_DYNAMIC_SHARED(unsigned char, shared);
  unsigned char* const memory = shared;
  T* const key = reinterpret_cast<T*>(memory + Shape::kOffsets.key);
  T* const value = reinterpret_cast<T*>(memory + Shape::kOffsets.value);
  T* const query_tiles = reinterpret_cast<T*>(memory + Shape::kOffsets.query);
  T* const dcontext_tiles = reinterpret_cast<T*>(memory + Shape::kOffsets.dcontext);
  RowStatistics* const statistics_tiles = reinterpret_cast<RowStatistics*>(memory + Shape::kOffsets.statistics);

  const FlashProblem& problem = operands.problem;
  const AttentionDims& d = problem.dims;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int key_warp = warp % Shape::kKeyWarps;
  const int slice = warp / Shape::kKeyWarps * Shape::kSlice;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * Shape::kKeys;  // the first tiles have most queries
  const std::int64_t kv_head = blockIdx.y;
  const std::int64_t batch = blockIdx.z;
  const std::int64_t group = d.n_heads / d.n_kv_heads;
  const std::int64_t begin = first / Shape::kQueries * Shape::kQueries;  // of the queries
  const std::int64_t steps_per_head = (d.seq_len - begin + Shape::kQueries - 1) / Shape::kQueries;
  const std::int64_t steps = group * steps_per_head;
  const auto step_at = [&](std::int64_t step) {
    return QueryStep{kv_head * group + step / steps_per_head, begin + step % steps_per_head * Shape::kQueries};
  };
  const auto load_queries = [&](std::int64_t number, int turn) {
    const auto step = step_at(number);
    load_tile<Units, Shape::kQueries, kWidth, Shape::kThreads>(
        query_tiles + turn * Shape::kQueryTile, problem,
        head_rows(static_cast<const T*>(operands.query), d, d.n_heads, batch, step.head), step.row);
    load_tile<Units, Shape::kQueries, kWidth, Shape::kThreads>(
        dcontext_tiles + turn * Shape::kQueryTile, problem,
        head_rows(static_cast<const T*>(operands.dcontext), d, d.n_heads, batch, step.head), step.row);
    load_statistics<Shape::kQueries, Shape::kThreads>(statistics_tiles + turn * Shape::kQueries, operands,
                                                      statistics_row(d, batch, step.head), step.row);
  };

  const T* const my_key = key + key_warp * kTile * Shape::kRow;
  const T* const my_value = value + key_warp * kTile * Shape::kRow;
  T* const weights = reinterpret_cast<T*>(memory + Shape::kOffsets.weights) + warp * Shape::kScoreTile;
  T* const dscores = reinterpret_cast<T*>(memory + Shape::kOffsets.dscores) + warp * Shape::kScoreTile;
  const Places places =
      Units::find_places(reinterpret_cast<float*>(memory + Shape::kOffsets.places) + warp * kTile * kTile);
  const std::int64_t my_first = first + key_warp * kTile;
  const float log2_scale = problem.scale * kLog2E;
  Accumulator dkey[Shape::kSlice / kTile];
  Accumulator dvalue[Shape::kSlice / kTile];
#pragma unroll
  for (int j = 0; j < Shape::kSlice / kTile; ++j) {
    Units::clear(dkey[j]);
    Units::clear(dvalue[j]);
  }

  load_tile<Units, Shape::kKeys, kWidth, Shape::kThreads>(
      key, problem, head_rows(static_cast<const T*>(operands.key), d, d.n_kv_heads, batch, kv_head), first);
  load_tile<Units, Shape::kKeys, kWidth, Shape::kThreads>(
      value, problem, head_rows(static_cast<const T*>(operands.value), d, d.n_kv_heads, batch, kv_head), first);
  load_queries(0, 0);
  int turn = 0;
  for (std::int64_t step = 0; step < steps; ++step, turn ^= 1) {
    wait_for_copies();
    __syncthreads();  // this turn's queries are there, and nobody reads the other turn's any more
    if (step + 1 < steps) load_queries(step + 1, turn ^ 1);
    const T* const query = query_tiles + turn * Shape::kQueryTile;
    const T* const dcontext = dcontext_tiles + turn * Shape::kQueryTile;
    const RowStatistics* const statistics = statistics_tiles + turn * Shape::kQueries;
    const std::int64_t row = step_at(step).row;
    Accumulator scores[kSubtiles];
    Accumulator dweights[kSubtiles];
#pragma unroll
    for (int j = 0; j < kSubtiles; ++j) {
      Units::clear(scores[j]);
      Units::clear(dweights[j]);
    }
#pragma unroll
    for (int k = 0; k < kWidth; k += kTile) {
      const auto left = Units::load(my_key + k, Shape::kRow);
      const auto dleft = Units::load(my_value + k, Shape::kRow);
#pragma unroll
      for (int j = 0; j < kSubtiles; ++j) {
        Units::add_product_transposed(scores[j], left, query + j * kTile * Shape::kRow + k, Shape::kRow);
        Units::add_product_transposed(dweights[j], dleft, dcontext + j * kTile * Shape::kRow + k, Shape::kRow);
      }
    }
#pragma unroll
    for (int j = 0; j < kSubtiles; ++j) {
#pragma unroll
      for (int i = 0; i < kLaneElements; ++i) {
        const int c = places.row(i);
        const int r = j * kTile + places.column(i);
        const auto pair = pair_gradient(scores[j].x[i], dweights[j].x[i], statistics[r], log2_scale);
        const bool visible = my_first + c <= row + r;
        weights[c * Shape::kScoreRow + r] = from_f32<T>(visible ? pair.weight : 0.0F);
        dscores[c * Shape::kScoreRow + r] = from_f32<T>(visible ? pair.dscore : 0.0F);
      }
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < Shape::kQueries; k += kTile) {
      const auto left = Units::load(weights + k, Shape::kScoreRow);
      const auto dleft = Units::load(dscores + k, Shape::kScoreRow);
#pragma unroll
      for (int j = 0; j < Shape::kSlice / kTile; ++j) {
        const int at = k * Shape::kRow + slice + j * kTile;
        Units::add_product(dvalue[j], left, dcontext + at, Shape::kRow);
        Units::add_product(dkey[j], dleft, query + at, Shape::kRow);
      }
    }
    __syncwarp();
  }
  write_rows<Units>(head_rows(static_cast<T*>(operands.dkey), d, d.n_kv_heads, batch, kv_head), problem, my_first,
                    slice, dkey, problem.scale, places);
  write_rows<Units>(head_rows(static_cast<T*>(operands.dvalue), d, d.n_kv_heads, batch, kv_head), problem, my_first,
                    slice, dvalue, 1.0F, places);
}

}  // namespace

void flash_backward(const AttentionBackwardArgs& args, void* scratch, cudaStream_t stream) {
  const auto& d = args.dims;
  const BackwardOperands operands{
      .problem = flash_problem(d, {args.query, args.key, args.value, args.dcontext}),
      .query = args.query.data,
      .key = args.key.data,
      .value = args.value.data,
      .context = args.context.data,
      .dcontext = args.dcontext.data,
      .logsumexp = args.logsumexp_BHT.as<const float>(),
      .delta = static_cast<float*>(scratch),
      .dquery = args.dquery.data,
      .dkey = args.dkey.data,
      .dvalue = args.dvalue.data,
  };
  const auto batch = static_cast<unsigned>(d.batch);
  const auto heads = static_cast<unsigned>(d.n_heads);
  const auto kv_heads = static_cast<unsigned>(d.n_kv_heads);
  with_tile_width(d.head_dim, args.query.dtype, [&]<class Units, int kWidth>() {
    using Queries = QueryShape<Units, kWidth>;
    using Keys = KeyShape<Units, kWidth>;
    launch("flash_delta", delta_kernel<typename Units::Element>,
           {.grid = dim3(tiles_of(d.seq_len, kDeltaRows), heads, batch),
            .block = dim3(kDeltaRows * kWarp),
            .stream = stream},
           operands);
    launch("flash_dkey_dvalue", dkey_dvalue_kernel<Units, kWidth>,
           {.grid = dim3(tiles_of(d.seq_len, Keys::kKeys), kv_heads, batch),
            .block = dim3(Keys::kThreads),
            .shared_bytes = Keys::kOffsets.bytes,
            .stream = stream},
           operands);
    launch("flash_dquery", dquery_kernel<Units, kWidth>,
           {.grid = dim3(tiles_of(d.seq_len, Queries::kQueries), heads, batch),
            .block = dim3(Queries::kThreads),
            .shared_bytes = Queries::kOffsets.bytes,
            .stream = stream},
           operands);
  });
}

}  // namespace perfbench::engine::cuda
