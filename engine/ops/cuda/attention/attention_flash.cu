// Flash attention, forward. A block computes 64 queries of one head, 16 in each warp, and walks over the keys that any
// of them may see. The tile of values arrives while scores are computed, and the next tile of keys while values are
// summed.
#include "engine/ops/cuda/attention/attention_flash.h"
#include "engine/ops/cuda/attention/flash_launch.cuh"

namespace perfbench::engine::cuda {
namespace {

template <class Units, int kWidth>
struct ForwardShape {
  using T = typename Units::Element;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kQueries = kWarps * kTile;
  // Two blocks fit on a multiprocessor with 227 KiB up to a width of 128; one fits into 163 KiB at any width.
  static constexpr int kKeys = sizeof(T) == 2 && kWidth <= 128 ? 64 : 32;
  static constexpr int kRow = kWidth + Units::kPad;
  // a pair of lanes reads each row: rows that are 8 apart are in different banks
  static constexpr int kScoreRow = kKeys + 8;

  struct Offsets {
    std::size_t query, key, value, scores, weights, factors, bytes;
  };
  static constexpr Offsets offsets() {
    SharedLayout layout;
    Offsets o{};
    o.query = layout.take(kQueries * kRow * sizeof(T));
    o.key = layout.take(kKeys * kRow * sizeof(T));
    o.value = layout.take(kKeys * kRow * sizeof(T));
    o.scores = layout.take(kQueries * kScoreRow * sizeof(float));
    o.weights = layout.take(kQueries * kScoreRow * sizeof(T));
    o.factors = layout.take(kQueries * sizeof(float));
    o.bytes = layout.bytes();
    return o;
  }
  static constexpr Offsets kOffsets = offsets();
};

struct ForwardOperands {
  FlashProblem problem;
  HeadsOperand query;
  HeadsOperand key;
  HeadsOperand value;
  HeadsOperand context;
  float* logsumexp;
  const float* bias;            // [H, T]
  const std::int32_t* first_N;  // where documents begin, or null
};

// The state of a row's softmax, held by both lanes of its pair.
struct RunningSoftmax {
  float maximum = -INFINITY;  // of scores
  float sum = 0;
};

// The keys of a tile that a row may see.
struct VisibleKeys {
  int begin;
  int end;
  __device__ bool have(int key) const { return key >= begin && key < end; }
};

// Turns the scores of a warp's 16 rows into weights; returns the factor for older sums of the pair's row. bias: that of
// the tile's first key; the bias of key j is j elements earlier.
template <class Shape, bool kHasBias>
__device__ float softmax_row(RunningSoftmax& state, const float* scores, typename Shape::T* weights,
                             const VisibleKeys& visible, float scale, const float* bias) {
  using T = typename Shape::T;
  constexpr int kPiece = 4;
  const int half = static_cast<int>(threadIdx.x) % 2;
  float most = -INFINITY;
  for (int c = half * kPiece; c < Shape::kKeys; c += 2 * kPiece) {
    for (int j = c; j < c + kPiece; ++j) {
      if (!visible.have(j)) continue;
      most = fmaxf(most, kHasBias ? scaled_score(scores[j], scale) + bias[-j] : scores[j]);
    }
  }
  most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
  if constexpr (!kHasBias) most = scaled_score(most, scale);
  const float maximum = fmaxf(state.maximum, most);
  const float factor = maximum == state.maximum ? 1.0F : exp_of_difference(state.maximum - maximum);
  float sum = 0;
  for (int c = half * kPiece; c < Shape::kKeys; c += 2 * kPiece) {
    for (int j = c; j < c + kPiece; ++j) {
      float weight = 0;
      if (visible.have(j)) {
        float score = scaled_score(scores[j], scale);
        if constexpr (kHasBias) score += bias[-j];
        weight = exp_of_difference(score - maximum);
      }
      weights[j] = from_f32<T>(weight);
      sum += weight;
    }
  }
  sum += __shfl_xor_sync(kAllLanes, sum, 1);
  state.maximum = maximum;
  state.sum = state.sum * factor + sum;
  return factor;
}

// Multiplies every row of a warp's sums by its factor.
template <class Units, int kTiles>
__device__ void rescale_rows(typename Units::Accumulator (&sums)[kTiles], const float* factors, const Places& places) {
#pragma unroll
  for (auto& sum : sums) {
#pragma unroll
    for (int i = 0; i < kLaneElements; ++i) sum.x[i] *= factors[places.row(i)];
  }
}

template <class Units, int kWidth, bool kHasBias>
__global__ void __launch_bounds__((ForwardShape<Units, kWidth>::kThreads)) forward_kernel(ForwardOperands operands) {
  using Shape = ForwardShape<Units, kWidth>;
  using T = typename Shape::T;
  using Accumulator = typename Units::Accumulator;
  PERFBENCH_DYNAMIC_SHARED(unsigned char, shared);
  unsigned char* const memory = shared;
  T* const query = reinterpret_cast<T*>(memory + Shape::kOffsets.query);
  T* const key = reinterpret_cast<T*>(memory + Shape::kOffsets.key);
  T* const value = reinterpret_cast<T*>(memory + Shape::kOffsets.value);

  const FlashProblem& problem = operands.problem;
  const AttentionDims& d = problem.dims;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  // The last tiles see the most keys, so they start first. Heads that read the same keys run side by side.
  const std::int64_t row = static_cast<std::int64_t>(gridDim.y - 1 - blockIdx.y) * Shape::kQueries;
  const std::int64_t head = blockIdx.x;
  const std::int64_t batch = blockIdx.z;
  const std::int64_t kv_head = head / (d.n_heads / d.n_kv_heads);
  const auto keys = head_rows<const T>(operands.key, d, batch, kv_head);
  const auto values = head_rows<const T>(operands.value, d, batch, kv_head);
  const std::int64_t end = min(row + Shape::kQueries, d.seq_len);  // end of the keys

  // This warp's own rows of each.
  T* const my_query = query + warp * kTile * Shape::kRow;
  float* const scores = reinterpret_cast<float*>(memory + Shape::kOffsets.scores) + warp * kTile * Shape::kScoreRow;
  T* const weights = reinterpret_cast<T*>(memory + Shape::kOffsets.weights) + warp * kTile * Shape::kScoreRow;
  float* const factors = reinterpret_cast<float*>(memory + Shape::kOffsets.factors) + warp * kTile;
  const Places places = Units::find_places(scores);
  const std::int64_t my_row = row + warp * kTile + lane / 2;
  // A row beyond the end sees the same keys as the last one, so that no distance is too long.
  const std::int64_t position = min(my_row, d.seq_len - 1);
  const std::int32_t* const first_T = document_starts(operands.first_N, d, batch);
  const std::int64_t my_document = first_T == nullptr ? 0 : first_T[position];
  const std::int64_t begin = first_key_tile(first_T, row, Shape::kKeys);  // begin of the keys
  RunningSoftmax state;
  Accumulator context[kWidth / kTile];
  clear_tiles<Units>(context);
  load_tile<Units, Shape::kQueries, kWidth, Shape::kThreads>(query, problem,
                                                             head_rows<const T>(operands.query, d, batch, head), row);
  load_tile<Units, Shape::kKeys, kWidth, Shape::kThreads>(key, problem, keys, begin);
  for (std::int64_t first = begin; first < end; first += Shape::kKeys) {
    wait_for_copies();
    __syncthreads();  // the keys have arrived, and no thread reads the previous values any more
    load_tile<Units, Shape::kKeys, kWidth, Shape::kThreads>(value, problem, values, first);
    {
      Accumulator sums[Shape::kKeys / kTile];
      score_tiles<Units, kWidth, Shape::kRow>(sums, my_query, key);
#pragma unroll
      for (int j = 0; j < Shape::kKeys / kTile; ++j) Units::store(scores + j * kTile, sums[j], Shape::kScoreRow);
    }
    __syncwarp();
    const auto in_tile = [&](std::int64_t k) {
      return static_cast<int>(max(min(k - first, std::int64_t{Shape::kKeys}), std::int64_t{0}));
    };
    const VisibleKeys visible{in_tile(my_document), in_tile(position + 1)};
    const float* const bias = kHasBias ? operands.bias + head * d.seq_len + position - first : nullptr;
    const float factor =
        softmax_row<Shape, kHasBias>(state, scores + lane / 2 * Shape::kScoreRow, weights + lane / 2 * Shape::kScoreRow,
                                     visible, d.score_factor, bias);
    if (lane % 2 == 0) factors[lane / 2] = factor;
    __syncwarp();
    if (__any_sync(kAllLanes, factor != 1.0F)) rescale_rows<Units>(context, factors, places);
    wait_for_copies();
    __syncthreads();  // the values have arrived, and no thread reads these keys any more
    if (first + Shape::kKeys < end) {
      load_tile<Units, Shape::kKeys, kWidth, Shape::kThreads>(key, problem, keys, first + Shape::kKeys);
    }
    add_value_tiles<Units, Shape::kKeys, Shape::kScoreRow, Shape::kRow>(context, weights, value);
    __syncwarp();
  }

  if (lane % 2 == 0) {
    factors[lane / 2] = 1.0F / state.sum;
    if (my_row < d.seq_len) {
      operands.logsumexp[statistics_row(d, batch, head) + my_row] = state.maximum + logf(state.sum);
    }
  }
  __syncwarp();
  rescale_rows<Units>(context, factors, places);
  write_rows<Units>(head_rows<T>(operands.context, d, batch, head), problem, row + warp * kTile, 0, context, 1.0F,
                    places);
}

}  // namespace

void flash_forward(const AttentionForwardArgs& args, cudaStream_t stream) {
  const auto& d = args.dims;
  const ForwardOperands operands{
      .problem = flash_problem(d, {args.query, args.key, args.value}),
      .query = heads_operand(args.query),
      .key = heads_operand(args.key),
      .value = heads_operand(args.value),
      .context = heads_operand(args.context),
      .logsumexp = args.logsumexp_BHT.as<float>(),
      .bias = args.bias_HT.as<const float>(),
      .first_N = args.first_N.as<const std::int32_t>(),
  };
  with_tile_width(d.head_dim, args.query.dtype, [&]<class Units, int kWidth>() {
    using Shape = ForwardShape<Units, kWidth>;
    launch("flash_forward",
           operands.bias != nullptr ? forward_kernel<Units, kWidth, true> : forward_kernel<Units, kWidth, false>,
           {.grid = dim3(static_cast<unsigned>(d.n_heads), tiles_of(d.seq_len, Shape::kQueries),
                         static_cast<unsigned>(d.batch)),
            .block = dim3(Shape::kThreads),
            .shared_bytes = Shape::kOffsets.bytes,
            .stream = stream},
           operands);
  });
}

}  // namespace perfbench::engine::cuda
