// The loss, and its gradient in place of the logits, with one block per row. A row is read twice, except the part that
// stays in registers, and the second time mostly from the cache. The first sweep keeps a maximum and a sum of
// exponentials for each thread (Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018).
#include <cfloat>

#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/device/packed.cuh"
#include "engine/ops/cuda/device/reductions.cuh"
#include "engine/ops/cuda/device/tokens.cuh"

namespace perfbench::engine::cuda {
namespace {

// 2^x by the special function unit, with an error below 2^-22; 0 if the result is not a normal number of f32.
__device__ inline float exp2_approximate(float x) {
#if defined(__CUDACC__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

// Three instructions, where expf has ten. Rounding the argument adds an error of |x| * 2^-23.
__device__ inline float exponential(float x) {
  constexpr float kLog2E = 1.44269504F;
  return exp2_approximate(__fmul_rn(x, kLog2E));
}

// Sums within vectors are in f32, sums of these in f64: few roundings however long the row. The reference that is
// subtracted before exp follows the maximum at a distance. Each change of it costs an exp in f64, for which all lanes
// of a warp wait, and nearly every vector contains a new maximum of one lane of 32.
struct Softmax {
  static constexpr float kSlack = 8.0F;  // exp(kSlack) is far below the largest f32
  float maximum = -FLT_MAX;
  float reference = -FLT_MAX;  // at least maximum - kSlack
  double sum = 0.0;            // of exp(x - reference)

  // Elements behind the first `count` are -infinity.
  template <int N>
  __device__ void add(float (&x)[N], std::int64_t count) {
    if (count < N) {
#pragma unroll
      for (int i = 0; i < N; ++i) x[i] = i < count ? x[i] : -INFINITY;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) maximum = fmaxf(maximum, x[i]);
    if (maximum > reference + kSlack) {
      if (sum > 0.0) sum *= exp(static_cast<double>(reference) - static_cast<double>(maximum));
      reference = maximum;
    }
    float part = 0.0F;
#pragma unroll
    for (int i = 0; i < N; ++i) part += exponential(x[i] - reference);
    sum += static_cast<double>(part);
  }

  // Returns the statistics of the whole row to every thread, with the maximum as reference.
  __device__ Softmax over_row() const {
    const float most = over_block(maximum, -FLT_MAX, Maximum{});
    return {most, most, sum_over_block(sum * exp(static_cast<double>(reference) - static_cast<double>(most)))};
  }
};

// Divided by the number of targets that the device counted, if it did: infinite if there are no targets, but then no
// row uses it.
__device__ double gradient_scale_of(double gradient_scale, const double* counted_targets) {
  return counted_targets == nullptr ? gradient_scale : gradient_scale / *counted_targets;
}

// For a row without a target.
template <class T>
__device__ void clear_row(T* gradient, float* loss, std::int64_t width, Access access) {
  constexpr int N = kVector<T>;
  const float zeros[N] = {};
  const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * N;
  for (std::int64_t first = static_cast<std::int64_t>(threadIdx.x) * N; first < width; first += step) {
    store(gradient + first, width - first, access, zeros);
  }
  if (threadIdx.x == 0) *loss = 0.0F;
}

// The tokens that the columns of logits stand for.
struct Columns {
  std::int64_t vocabulary;
  std::int64_t first;
  BadToken* bad_token;
};

Columns columns_of(const TokenRange& range, std::int64_t width, HostMailbox& mailbox) {
  const std::int64_t vocabulary = range.all > 0 ? range.all : width;
  return {vocabulary, range.first, mailbox.bad_token(HostMailbox::Reader::cross_entropy, vocabulary)};
}

const double* count_of(const TensorView& counted_targets) {
  return counted_targets.defined() ? counted_targets.as<const double>() : nullptr;
}

// v[at] = value without taking an address, so v stays in registers.
template <int N>
__device__ void put(float (&v)[N], int at, float value) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i == at) v[i] = value;
  }
}

// The vectors of a row that a thread has in registers at once.
constexpr int kBatch = 8;

// A thread's share of a row, batch after batch. The batch that is read last is still in registers when the second sweep
// begins.
template <class T, Access kAccess>
class Batches {
 public:
  static constexpr int N = kVector<T>;

  __device__ Batches(T* row, std::int64_t width) : row_(row), width_(width) {}
  __device__ std::int64_t count() const { return divide_up(width_, step()); }
  __device__ void read(std::int64_t batch) {
    for_each(batch, [&](int slot, std::int64_t first, std::int64_t elements) {
      if (elements == N) {
        held_[slot].template read<kAccess>(row_ + first, elements);
      } else {
        held_[slot].template read<Access::element>(row_ + first, elements);
      }
    });
  }
  // Calls f(first, elements, v) for each vector of the batch that was read last.
  template <class F>
  __device__ void visit(std::int64_t batch, F f) {
    for_each(batch, [&](int slot, std::int64_t first, std::int64_t elements) {
      float v[N];
      held_[slot].get(v);
      held_[slot].forget();
      if (elements == N) {
        f(first, std::int64_t{N}, v);
      } else {
        f(first, elements, v);
      }
    });
  }

 private:
  __device__ std::int64_t step() const { return static_cast<std::int64_t>(blockDim.x) * N * kBatch; }
  template <class F>
  __device__ void for_each(std::int64_t batch, F f) const {
#pragma unroll
    for (int slot = 0; slot < kBatch; ++slot) {
      const std::int64_t first = batch * step() + (static_cast<std::int64_t>(slot) * blockDim.x + threadIdx.x) * N;
      if (first >= width_) continue;
      f(slot, first, width_ - first < N ? width_ - first : std::int64_t{N});
    }
  }

  T* row_;
  std::int64_t width_;
  Packed<T> held_[kBatch];
};

template <class T, Access kAccess>
__global__ void __launch_bounds__(kMostThreads)
    cross_entropy_kernel(float* losses, T* logits, const std::int32_t* targets, BadToken* bad_token, std::int64_t rows,
                         std::int64_t width, std::int64_t stride, double scale_of_host, const double* counted_targets) {
  constexpr int N = kVector<T>;
  const double gradient_scale = gradient_scale_of(scale_of_host, counted_targets);
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    T* const x = logits + row * stride;
    const std::int32_t target = targets[row];
    if (target == kNoTarget) {
      clear_row(x, losses + row, width, kAccess);
      continue;
    }
    const bool known = is_in(width, target);
    // Every thread reads it before the reduction's barrier, after which it is overwritten.
    const double target_logit = known ? static_cast<double>(to_f32(x[target])) : 0.0;
    Batches<T, kAccess> batches(x, width);
    const std::int64_t last = batches.count() - 1;
    Softmax softmax;
    for (std::int64_t batch = 0; batch <= last; ++batch) {
      batches.read(batch);
      batches.visit(batch, [&](std::int64_t, std::int64_t elements, float(&v)[N]) { softmax.add(v, elements); });
    }
    softmax = softmax.over_row();
    __syncthreads();
    const auto scale = static_cast<float>(gradient_scale / softmax.sum);
    const double above_target = static_cast<double>(softmax.maximum) - target_logit;
    // p - 1 from the exact p, so that cancellation does not amplify expf's error.
    const double probability = exp(-above_target) / softmax.sum;
    const auto target_gradient = static_cast<float>((probability - 1.0) * gradient_scale);
    for (std::int64_t batch = last; batch >= 0; --batch) {
      if (batch < last) batches.read(batch);
      batches.visit(batch, [&](std::int64_t first, std::int64_t elements, float(&v)[N]) {
#pragma unroll
        for (int i = 0; i < N; ++i) v[i] = exponential(v[i] - softmax.maximum) * scale;
        if (const std::int64_t i = target - first; i >= 0 && i < N) put(v, static_cast<int>(i), target_gradient);
        store(x + first, elements, kAccess, v);
      });
    }
    if (threadIdx.x != 0) continue;
    if (!known) report_token(bad_token, row, target);
    losses[row] = known ? static_cast<float>(log(softmax.sum) + above_target) : __uint_as_float(0x7FC00000U);
  }
}

// As in CrossEntropyPartArgs: maxima, sums and targets, `rows` of each.
template <class T>
__global__ void __launch_bounds__(kMostThreads)
    part_kernel(float* statistics, float* others, const T* logits, const std::int32_t* targets, Columns columns,
                std::int64_t rows, std::int64_t width, std::int64_t stride, Access access) {
  constexpr int N = kVector<T>;
  const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * N;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* const x = logits + row * stride;
    const std::int32_t target = targets[row];
    const std::int64_t here = target - columns.first;
    Softmax softmax;
    float other = -FLT_MAX;
    for (std::int64_t first = static_cast<std::int64_t>(threadIdx.x) * N; first < width; first += step) {
      float v[N];
      load(x + first, width - first, access, v);
      softmax.add(v, width - first);
      if (others == nullptr) continue;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (first + i < width && first + i != here) other = fmaxf(other, v[i]);
      }
    }
    softmax = softmax.over_row();
    if (others != nullptr) other = over_block(other, -FLT_MAX, Maximum{});
    if (threadIdx.x != 0) continue;
    if (target != kNoTarget && !is_in(columns.vocabulary, target)) report_token(columns.bad_token, row, target);
    if (others != nullptr) others[row] = other;
    statistics[row] = softmax.maximum;
    statistics[rows + row] = static_cast<float>(softmax.sum);
    statistics[2 * rows + row] = here >= 0 && here < width ? to_f32(x[here]) : 0.0F;
  }
}

// A row, combined from the parts of all ranks.
struct WholeRow {
  float maximum = -FLT_MAX;
  double sum = 0.0;  // of exp(x - maximum)
  double target_logit = 0.0;
};

// `parts` is [ranks, statistics, rows].
__device__ WholeRow join(const float* parts, std::int64_t ranks, std::int64_t statistics, std::int64_t rows,
                         std::int64_t row) {
  const auto of = [&](std::int64_t rank, std::int64_t which) {
    return parts[(rank * statistics + which) * rows + row];
  };
  WholeRow whole;
  for (std::int64_t rank = 0; rank < ranks; ++rank) whole.maximum = fmaxf(whole.maximum, of(rank, 0));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    whole.sum +=
        static_cast<double>(of(rank, 1)) * exp(static_cast<double>(of(rank, 0)) - static_cast<double>(whole.maximum));
    whole.target_logit += static_cast<double>(of(rank, 2));
  }
  return whole;
}

template <class T>
__global__ void __launch_bounds__(kMostThreads)
    whole_kernel(float* losses, T* logits, const float* statistics, std::int64_t ranks, const std::int32_t* targets,
                 Columns columns, std::int64_t rows, std::int64_t width, std::int64_t stride, double scale_of_host,
                 const double* counted_targets, Access access) {
  constexpr int N = kVector<T>;
  const double gradient_scale = gradient_scale_of(scale_of_host, counted_targets);
  const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * N;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    T* const x = logits + row * stride;
    const std::int32_t target = targets[row];
    if (target == kNoTarget) {
      clear_row(x, losses + row, width, access);
      continue;
    }
    const auto [maximum, sum, target_logit] = join(statistics, ranks, kCrossEntropyStatistics, rows, row);
    const bool known = is_in(columns.vocabulary, target);
    const std::int64_t here = target - columns.first;
    const auto scale = static_cast<float>(gradient_scale / sum);
    const double above_target = static_cast<double>(maximum) - target_logit;
    // p - 1 from the exact p, so that cancellation does not amplify expf's error.
    const double probability = exp(-above_target) / sum;
    const auto target_gradient = static_cast<float>((probability - 1.0) * gradient_scale);
    for (std::int64_t first = static_cast<std::int64_t>(threadIdx.x) * N; first < width; first += step) {
      float v[N];
      load(x + first, width - first, access, v);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        v[i] = exponential(v[i] - maximum) * scale;
        if (first + i == here) v[i] = target_gradient;
      }
      store(x + first, width - first, access, v);
    }
    if (threadIdx.x != 0) continue;
    losses[row] = known ? static_cast<float>(log(sum) + above_target) : __uint_as_float(0x7FC00000U);
  }
}

// One block per sequence; some of its rows may be in other calls (ScoreArgs::first).
__global__ void __launch_bounds__(kMostThreads)
    score_kernel(double* scores, const float* statistics, std::int64_t ranks, const std::int32_t* targets,
                 std::int64_t rows, std::int64_t first, std::int64_t seq_len) {
  const std::int64_t sequence = first / seq_len + blockIdx.x;
  const std::int64_t begin = sequence * seq_len > first ? sequence * seq_len - first : 0;
  const std::int64_t end = (sequence + 1) * seq_len - first < rows ? (sequence + 1) * seq_len - first : rows;
  double likelihood = 0.0;
  double counted = 0.0;
  double missed = 0.0;
  for (std::int64_t row = begin + threadIdx.x; row < end; row += blockDim.x) {
    if (targets[row] == kNoTarget) continue;
    const WholeRow whole = join(statistics, ranks, kScoreStatistics, rows, row);
    float other = -FLT_MAX;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      other = fmaxf(other, statistics[(rank * kScoreStatistics + kCrossEntropyStatistics) * rows + row]);
    }
    const double of_row = whole.target_logit - static_cast<double>(whole.maximum) - log(whole.sum);
    const bool is_number = of_row == of_row;
    const bool greedy = whole.target_logit > static_cast<double>(other) && is_number;
    likelihood += of_row;
    counted += 1.0;
    missed += greedy ? 0.0 : 1.0;
  }
  likelihood = sum_over_block(likelihood);
  counted = sum_over_block(counted);
  missed = sum_over_block(missed);
  if (threadIdx.x != 0) return;
  scores[sequence * kScores] += likelihood;
  scores[sequence * kScores + 1] += counted;
  scores[sequence * kScores + 2] += missed;
}

}  // namespace

void CudaOps::do_score(const ScoreArgs& args) {
  const std::int64_t rows = args.targets_N.elements();
  const std::int64_t last = (args.first + rows - 1) / args.seq_len;
  launch("score", score_kernel,
         {.grid = row_blocks(last - args.first / args.seq_len + 1),
          .block = row_threads(std::min(rows, args.seq_len), 1),
          .stream = stream()},
         args.scores_B3.as<double>(), args.statistics_R4N.as<const float>(), args.statistics_R4N.shape[0],
         args.targets_N.as<const std::int32_t>(), rows, args.first, args.seq_len);
}

void CudaOps::do_cross_entropy_part(const CrossEntropyPartArgs& args) {
  const std::int64_t rows = args.logits_NV.shape[0];
  const std::int64_t width = args.logits_NV.shape[1];
  const std::int64_t stride = args.logits_NV.stride;
  const Columns columns = columns_of(args.range, width, mailbox_);
  with_element_type(args.logits_NV.dtype, [&]<class T>() {
    launch("cross_entropy_part", part_kernel<T>,
           {.grid = row_blocks(rows), .block = row_threads(width, kVector<T>), .stream = stream()},
           args.statistics_3N.as<float>(), args.others_N.defined() ? args.others_N.as<float>() : nullptr,
           args.logits_NV.as<const T>(), args.targets_N.as<const std::int32_t>(), columns, rows, width, stride,
           access_of({args.logits_NV.data}, stride, kVector<T>));
  });
}

void CudaOps::do_cross_entropy_whole(const CrossEntropyWholeArgs& args) {
  const std::int64_t rows = args.logits_NV.shape[0];
  const std::int64_t width = args.logits_NV.shape[1];
  const std::int64_t stride = args.logits_NV.stride;
  const Columns columns = columns_of(args.range, width, mailbox_);
  with_element_type(args.logits_NV.dtype, [&]<class T>() {
    launch("cross_entropy_whole", whole_kernel<T>,
           {.grid = row_blocks(rows), .block = row_threads(width, kVector<T>), .stream = stream()},
           args.losses_N.as<float>(), args.logits_NV.as<T>(), args.statistics_R3N.as<const float>(),
           args.statistics_R3N.shape[0], args.targets_N.as<const std::int32_t>(), columns, rows, width, stride,
           args.gradient_scale, count_of(args.counted_targets), access_of({args.logits_NV.data}, stride, kVector<T>));
  });
}

void CudaOps::do_cross_entropy(const CrossEntropyArgs& args) {
  const std::int64_t rows = args.logits_NV.shape[0];
  const std::int64_t width = args.logits_NV.shape[1];
  const std::int64_t stride = args.logits_NV.stride;
  BadToken* const bad_token = mailbox_.bad_token(HostMailbox::Reader::cross_entropy, width);
  with_element_type(args.logits_NV.dtype, [&]<class T>() {
    const LaunchShape shape{
        .grid = row_blocks(rows), .block = row_threads(width, std::int64_t{kBatch} * kVector<T>), .stream = stream()};
    const Access access = access_of({args.logits_NV.data}, stride, kVector<T>);
    with_access(access, [&]<Access kAccess>() {
      launch("cross_entropy", cross_entropy_kernel<T, kAccess>, shape, args.losses_N.as<float>(),
             args.logits_NV.as<T>(), args.targets_N.as<const std::int32_t>(), bad_token, rows, width, stride,
             args.gradient_scale, count_of(args.counted_targets));
    });
  });
}

}  // namespace perfbench::engine::cuda
