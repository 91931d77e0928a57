// Chooses the experts of each token and assigns rows. A warp chooses for a token. A block finds the rows of one expert:
// it walks over all choices in the rule's order and numbers those that are its own. If rows follow those of previous
// experts, it counts these first, so that no block waits for another.
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/device/reductions.cuh"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

constexpr unsigned kTokenWarps = 4;  // warps in a block, one token each

// A larger logit has the larger key; among equal logits, the first expert has it. So no two keys of a token are equal.
// A NaN is above all others: it is chosen and shows in the gates.
using Key = unsigned long long;
__device__ inline Key key_of(float logit, unsigned expert) {
  const unsigned bits = __float_as_uint(logit + 0.0F);  // turns -0 into 0
  const unsigned ordered = logit != logit ? 0xFFC00000U : (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
  return static_cast<Key>(ordered) << 32 | ~expert;
}
__device__ inline unsigned expert_of(Key key) {
  return ~static_cast<unsigned>(key);
}
struct LargerKey {
  __device__ Key operator()(Key a, Key b) const { return a > b ? a : b; }
};

__global__ void choose_kernel(float* gates, std::int32_t* experts, const float* logits, std::int64_t tokens,
                              unsigned width, unsigned choices) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kTokenWarps;
  for (std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * kTokenWarps + threadIdx.x / kWarp; n < tokens;
       n += step) {
    const float* const x = logits + n * width;
    std::int32_t* const chosen = experts + n * choices;
    Key last = ~Key{0};
    float most = 0.0F;
    float sum = 0.0F;
    for (unsigned c = 0; c < choices; ++c) {
      Key best = 0;
      for (unsigned e = lane; e < width; e += kWarp) {
        const Key key = key_of(x[e], e);
        if (key < last && key > best) best = key;
      }
      last = over_warp(best, LargerKey{});
      const unsigned expert = expert_of(last);
      if (c == 0) most = x[expert];
      sum += expf(x[expert] - most);
      if (lane == 0) chosen[c] = static_cast<std::int32_t>(expert);
    }
    __syncwarp();
    for (unsigned c = lane; c < choices; c += kWarp) gates[n * choices + c] = expf(x[chosen[c]] - most) / sum;
  }
}

// Choices and rows have i32 numbers, so these are i32 too.
struct Assignment {
  std::int32_t* rows;      // [N, C]
  std::int32_t* choices;   // [Q]
  std::int32_t* segments;  // [E, 2]
  float* dropped;          // [E], or null
  const std::int32_t* experts;
  int tokens;
  int per_token;
  int part_experts;
  int part_rows;
  int slots;         // 0: as many as fit into the part
  int group_tokens;  // all tokens if there are no slots
  RoutingRule::Order order;

  __device__ int choice(int group, int position) const {
    if (order == RoutingRule::Order::by_token) return group * group_tokens * per_token + position;
    return (group * group_tokens + position % group_tokens) * per_token + position / group_tokens;
  }
};

struct BlockCount {
  int before;  // of the threads before the calling one
  int all;
};

__device__ inline BlockCount count_over_block(int mine) {
  PERFBENCH_SHARED(int, of_warps, kWarp);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  int until = mine;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const int other = __shfl_up_sync(kAllLanes, until, static_cast<unsigned>(distance));
    if (lane >= distance) until += other;
  }
  if (lane == kWarp - 1) of_warps[warp] = until;
  __syncthreads();
  const int part = lane < static_cast<int>(blockDim.x) / kWarp ? of_warps[lane] : 0;
  const BlockCount count{over_warp(lane < warp ? part : 0, Sum{}) + until - mine, over_warp(part, Sum{})};
  __syncthreads();  // the next count overwrites of_warps
  return count;
}

constexpr int kPositions = 4;  // consecutive positions of one thread

// Assigns the rows [first, first + room) to an expert's choices of a group. Returns the number of choices.
__device__ int assign_group(const Assignment& a, int expert, int group, int first, int room) {
  const int count = a.group_tokens * a.per_token;
  int taken = 0;
  for (int begin = 0; begin < count; begin += static_cast<int>(blockDim.x) * kPositions) {
    int own[kPositions];
    int mine = 0;
#pragma unroll
    for (int i = 0; i < kPositions; ++i) {
      const int position = begin + static_cast<int>(threadIdx.x) * kPositions + i;
      own[i] = position < count ? a.choice(group, position) : -1;
      if (own[i] >= 0 && a.experts[own[i]] != expert) own[i] = -1;
      if (own[i] >= 0) ++mine;
    }
    const BlockCount found = count_over_block(mine);
    int place = taken + found.before;
#pragma unroll
    for (int i = 0; i < kPositions; ++i) {
      if (own[i] < 0) continue;
      a.rows[own[i]] = place < room ? first + place : -1;
      if (place < room) a.choices[first + place] = own[i];
      ++place;
    }
    taken += found.all;
  }
  return taken;
}

// Counts the choices of experts [from, to).
__device__ int count_choices_of(const Assignment& a, int from, int to) {
  int count = 0;
  for (int i = static_cast<int>(threadIdx.x); i < a.tokens * a.per_token; i += static_cast<int>(blockDim.x)) {
    if (a.experts[i] >= from && a.experts[i] < to) ++count;
  }
  return sum_over_block(count);
}

// One block for every expert.
__global__ void __launch_bounds__(kMostThreads) assign_kernel(Assignment a) {
  const auto expert = static_cast<int>(blockIdx.x);
  const int of_part = expert % a.part_experts;
  const int part_begin = expert / a.part_experts * a.part_rows;
  const int groups = a.tokens / a.group_tokens;
  const int begin =
      a.slots > 0 ? of_part * groups * a.slots : min(count_choices_of(a, expert - of_part, expert), a.part_rows);
  const int room = a.slots > 0 ? a.slots : a.part_rows - begin;
  // The end of the unused rows that this expert marks: behind the part's last expert these are all the rest.
  const bool marks = a.slots > 0 || of_part == a.part_experts - 1;
  int dropped = 0;
  int kept = 0;
  for (int group = 0; group < groups; ++group) {
    const int first = part_begin + begin + group * a.slots;
    const int count = assign_group(a, expert, group, first, room);
    kept = min(count, room);
    dropped += count - kept;
    for (int row = kept + static_cast<int>(threadIdx.x); marks && row < room; row += static_cast<int>(blockDim.x)) {
      a.choices[first + row] = -1;
    }
  }
  if (threadIdx.x != 0) return;
  a.segments[2 * expert] = begin;
  a.segments[2 * expert + 1] = a.slots > 0 ? groups * a.slots : kept;
  if (a.dropped != nullptr) a.dropped[expert] = static_cast<float>(dropped);
}

// The balance of a sequence is E / T^2 times a sum over its tokens: the expected value, under a token's probabilities,
// of how often its expert was chosen. A block computes some tokens of one sequence, a warp each, after counting the
// whole sequence's choices.
struct BalanceShape {
  std::int64_t seq_len;
  std::int64_t sequences;
  int width;
  int per_token;
  int counted;  // number of first choices of each token that count
};

constexpr int kBalanceTokens = 64;
constexpr int kBalanceWarps = 16;

BalanceShape balance_shape(const TensorView& logits, const TensorView& gates, const RoutingRule& rule) {
  return {.seq_len = rule.seq_len,
          .sequences = logits.shape[0] / rule.seq_len,
          .width = static_cast<int>(logits.shape[1]),
          .per_token = static_cast<int>(gates.shape[1]),
          .counted = static_cast<int>(rule.balance_choices)};
}

LaunchShape balance_launch(const BalanceShape& shape, cudaStream_t stream) {
  return {.grid = row_blocks(shape.sequences * divide_up(shape.seq_len, kBalanceTokens)),
          .block = kBalanceWarps * kWarp,
          .shared_bytes = static_cast<std::size_t>(shape.width) * sizeof(int),
          .stream = stream};
}

// The tokens of a block.
struct TokenRun {
  std::int64_t sequence;  // the sequence's first token
  std::int64_t first;
  std::int64_t end;
};
__device__ inline TokenRun tokens_of_block(const BalanceShape& shape) {
  const std::int64_t blocks = divide_up(shape.seq_len, kBalanceTokens);  // blocks per sequence
  const std::int64_t sequence = blockIdx.x / blocks * shape.seq_len;
  const std::int64_t first = blockIdx.x % blocks * kBalanceTokens;
  return {sequence, sequence + first, sequence + min(first + kBalanceTokens, shape.seq_len)};
}

// counts[width] in shared memory: how often the sequence from token `sequence` on chose each expert.
__device__ void count_choices(int* counts, const std::int32_t* experts, const BalanceShape& shape,
                              std::int64_t sequence) {
  for (int e = static_cast<int>(threadIdx.x); e < shape.width; e += static_cast<int>(blockDim.x)) counts[e] = 0;
  __syncthreads();
  const std::int32_t* const own = experts + sequence * shape.per_token;
  for (std::int64_t i = threadIdx.x; i < shape.seq_len * shape.counted; i += blockDim.x) {
    atomicAdd(counts + own[i / shape.counted * shape.per_token + i % shape.counted], 1);
  }
  __syncthreads();
}

struct TokenSoftmax {
  float maximum;
  float sum;  // of exp(x - maximum)
  float expected_count;

  __device__ float probability(float x) const { return expf(x - maximum) / sum; }
};

__device__ TokenSoftmax softmax_of_warp(const float* x, const int* counts, int width) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float most = -INFINITY;
  for (int e = lane; e < width; e += kWarp) most = fmaxf(most, x[e]);
  most = over_warp(most, Maximum{});
  float sum = 0.0F;
  float counted = 0.0F;
  for (int e = lane; e < width; e += kWarp) {
    const float term = expf(x[e] - most);
    sum += term;
    counted += term * static_cast<float>(counts[e]);
  }
  sum = over_warp(sum, Sum{});
  return {most, sum, over_warp(counted, Sum{}) / sum};
}

__global__ void expected_count_kernel(float* expected, const float* logits, const std::int32_t* experts,
                                      BalanceShape shape) {
  PERFBENCH_DYNAMIC_SHARED(int, shared);
  int* const counts = shared;
  const TokenRun run = tokens_of_block(shape);
  count_choices(counts, experts, shape, run.sequence);
  for (std::int64_t n = run.first + threadIdx.x / kWarp; n < run.end; n += kBalanceWarps) {
    const TokenSoftmax softmax = softmax_of_warp(logits + n * shape.width, counts, shape.width);
    if (threadIdx.x % kWarp == 0) expected[n] = softmax.expected_count;
  }
}

// One block for every sequence.
__global__ void balance_kernel(float* balance, const float* expected, std::int64_t seq_len, double factor) {
  double sum = 0.0;
  for (std::int64_t t = threadIdx.x; t < seq_len; t += blockDim.x) {
    sum += static_cast<double>(expected[blockIdx.x * seq_len + t]);
  }
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) balance[blockIdx.x] = static_cast<float>(factor * sum);
}

// One block for every sequence; all its choices are counted.
__global__ void load_kernel(float* load, const std::int32_t* experts, BalanceShape shape) {
  PERFBENCH_DYNAMIC_SHARED(int, counts);
  count_choices(counts, experts, shape, blockIdx.x * shape.seq_len);
  float most = 0.0F;
  for (int e = static_cast<int>(threadIdx.x); e < shape.width; e += static_cast<int>(blockDim.x)) {
    most = fmaxf(most, static_cast<float>(counts[e]));
  }
  most = over_block(most, 0.0F, Maximum{});
  if (threadIdx.x != 0) return;
  load[blockIdx.x] = most * static_cast<float>(shape.width) / static_cast<float>(shape.seq_len * shape.per_token);
}

double balance_factor(const BalanceShape& shape) {
  return static_cast<double>(shape.width) / (static_cast<double>(shape.seq_len) * static_cast<double>(shape.seq_len));
}

struct RouteGradient {
  const float* dgates;
  const float* logits;
  const float* gates;
  const std::int32_t* experts;
  float balance_factor;
};

// Every expert gets its part of the balance's gradient. Then the lanes of the chosen experts write the sum of both
// gradients, rounded once.
template <class T>
__global__ void route_backward_kernel(T* dlogits, RouteGradient g, BalanceShape shape) {
  PERFBENCH_DYNAMIC_SHARED(int, shared);
  int* const counts = shared;
  const TokenRun run = tokens_of_block(shape);
  const bool balanced = g.balance_factor != 0.0F;
  if (balanced) count_choices(counts, g.experts, shape, run.sequence);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (std::int64_t n = run.first + threadIdx.x / kWarp; n < run.end; n += kBalanceWarps) {
    const float* const x = g.logits + n * shape.width;
    const std::int64_t first = n * shape.per_token;
    T* const out = dlogits + n * shape.width;
    TokenSoftmax softmax{};
    if (balanced) softmax = softmax_of_warp(x, counts, shape.width);
    const auto of_balance = [&](int e) {
      if (!balanced) return 0.0F;
      return g.balance_factor * softmax.probability(x[e]) * (static_cast<float>(counts[e]) - softmax.expected_count);
    };
    float mean = 0.0F;
    for (int c = lane; c < shape.per_token; c += kWarp) mean += g.gates[first + c] * g.dgates[first + c];
    mean = over_warp(mean, Sum{});
    for (int e = lane; e < shape.width; e += kWarp) out[e] = from_f32<T>(of_balance(e));
    __syncwarp();
    for (int c = lane; c < shape.per_token; c += kWarp) {
      const int e = g.experts[first + c];
      out[e] = from_f32<T>(of_balance(e) + g.gates[first + c] * (g.dgates[first + c] - mean));
    }
  }
}

}  // namespace

void CudaOps::do_route_forward(const RouteForwardArgs& args) {
  const std::int64_t tokens = args.logits_NE.shape[0];
  const std::int64_t width = args.logits_NE.shape[1];
  const std::int64_t per_token = args.gates_NC.shape[1];
  const RoutingRule& rule = args.rule;
  const auto* const logits = args.logits_NE.as<const float>();
  const auto* const experts = args.experts_NC.as<const std::int32_t>();
  launch("choose", choose_kernel,
         {.grid = row_blocks(divide_up(tokens, kTokenWarps)), .block = kTokenWarps * kWarp, .stream = stream()},
         args.gates_NC.as<float>(), args.experts_NC.as<std::int32_t>(), logits, tokens, static_cast<unsigned>(width),
         static_cast<unsigned>(per_token));
  const std::int64_t group_tokens = rule.dropless() ? tokens : rule.group_tokens;
  const Assignment assignment{.rows = args.rows_NC.as<std::int32_t>(),
                              .choices = args.choices_Q.as<std::int32_t>(),
                              .segments = args.segments_E2.as<std::int32_t>(),
                              .dropped = args.dropped_E.as<float>(),
                              .experts = experts,
                              .tokens = static_cast<int>(tokens),
                              .per_token = static_cast<int>(per_token),
                              .part_experts = static_cast<int>(width / rule.parts),
                              .part_rows = static_cast<int>(rule.part_rows),
                              .slots = static_cast<int>(rule.slots),
                              .group_tokens = static_cast<int>(group_tokens),
                              .order = rule.order};
  launch("assign", assign_kernel,
         {.grid = row_blocks(width), .block = row_threads(group_tokens * per_token, kPositions), .stream = stream()},
         assignment);
  if (!args.balance_B.defined()) return;
  const BalanceShape shape = balance_shape(args.logits_NE, args.gates_NC, rule);
  auto* const expected = static_cast<float*>(workspace(workspace::routing_bytes(tokens), "route_forward"));
  launch("expected_count", expected_count_kernel, balance_launch(shape, stream()), expected, logits, experts, shape);
  launch("balance", balance_kernel,
         {.grid = row_blocks(shape.sequences), .block = row_threads(shape.seq_len, 1), .stream = stream()},
         args.balance_B.as<float>(), expected, shape.seq_len, balance_factor(shape));
  BalanceShape of_all = shape;
  of_all.counted = of_all.per_token;
  launch("load", load_kernel,
         {.grid = row_blocks(shape.sequences),
          .block = row_threads(shape.seq_len * shape.per_token, 1),
          .shared_bytes = static_cast<std::size_t>(shape.width) * sizeof(int),
          .stream = stream()},
         args.load_B.as<float>(), experts, of_all);
}

void CudaOps::do_route_backward(const RouteBackwardArgs& args) {
  const BalanceShape shape = balance_shape(args.logits_NE, args.gates_NC, args.rule);
  const RouteGradient gradient{.dgates = args.dgates_NC.as<const float>(),
                               .logits = args.logits_NE.as<const float>(),
                               .gates = args.gates_NC.as<const float>(),
                               .experts = args.experts_NC.as<const std::int32_t>(),
                               .balance_factor = static_cast<float>(args.balance_scale * balance_factor(shape))};
  with_element_type(args.dlogits_NE.dtype, [&]<class T>() {
    launch("route_backward", route_backward_kernel<T>, balance_launch(shape, stream()), args.dlogits_NE.as<T>(),
           gradient, shape);
  });
}

}  // namespace perfbench::engine::cuda
