// The loss, and its gradient in place of the logits. A row is read from memory once: the maximum of each block is taken
// and its exponentials are kept, which a second pass in cache only scales.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/error.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"
#include "engine/ops/cpu/vector_math.h"

namespace perfbench::engine::cpu {
namespace {

constexpr std::int64_t kMaximumBlock = 1024;  // elements that share a maximum; fits in the L1 cache

// A row as exp(x - maxima[i / kMaximumBlock]), not yet scaled to a common maximum.
struct SoftmaxRow {
  float* exponentials;  // the row itself if it is f32
  float* maxima;        // one per block
  float maximum;        // of the whole row
  double sum;           // of exp(x - maximum)
};

template <class T>
float block_maximum(const T* x, std::int64_t n) {
  const Vec lowest = splat(std::numeric_limits<float>::lowest());
  Vec most[2] = {lowest, lowest};
  int turn = 0;
  for (std::int64_t i = 0; i < n; i += kLanes, turn = 1 - turn) {
    const std::int64_t count = std::min(kLanes, n - i);
    most[turn] = max(keep_lanes(load_up_to(x + i, count), count, lowest), most[turn]);
  }
  return max_lanes(max(most[0], most[1]));
}

// Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018, applied to blocks.
template <class T>
void exponentiate(const T* x, std::int64_t n, SoftmaxRow& row) {
  row.maximum = std::numeric_limits<float>::lowest();
  row.sum = 0.0;
  for (std::int64_t first = 0; first < n; first += kMaximumBlock) {
    const std::int64_t count = std::min(kMaximumBlock, n - first);
    const float maximum = block_maximum(x + first, count);
    row.maxima[first / kMaximumBlock] = maximum;
    float* const out = row.exponentials + first;
    Vec sum[2] = {};
    int turn = 0;
    for (std::int64_t i = 0; i < count; i += kLanes, turn = 1 - turn) {
      const std::int64_t lanes = std::min(kLanes, count - i);
      const Vec e = exp(load_up_to(x + first + i, lanes) - maximum);
      store_up_to(out + i, e, lanes);
      sum[turn] += keep_lanes(e, lanes);
    }
    const double block_sum = static_cast<double>(sum_lanes(sum[0] + sum[1]));
    const double rise = static_cast<double>(maximum) - static_cast<double>(row.maximum);
    if (rise > 0.0) {
      row.sum = row.sum * std::exp(-rise) + block_sum;
      row.maximum = maximum;
    } else {
      row.sum += block_sum * std::exp(rise);
    }
  }
}

// Writes softmax * factor.
template <class T>
void write_gradient(const SoftmaxRow& row, double factor, T* out, std::int64_t n) {
  for (std::int64_t first = 0; first < n; first += kMaximumBlock) {
    const std::int64_t count = std::min(kMaximumBlock, n - first);
    const double shrink =
        std::exp(static_cast<double>(row.maxima[first / kMaximumBlock]) - static_cast<double>(row.maximum));
    const auto scale = static_cast<float>(factor / row.sum * shrink);
    for (std::int64_t i = first; i < first + count; i += kLanes) {
      const std::int64_t lanes = std::min(kLanes, first + count - i);
      store_up_to(out + i, load_up_to(row.exponentials + i, lanes) * scale, lanes);
    }
  }
}

// The maximum of a row without one column, which may be absent from it.
template <class T>
float greatest_other(const T* x, std::int64_t n, std::int64_t column) {
  if (column < 0 || column >= n) return block_maximum(x, n);
  return std::max(block_maximum(x, column), block_maximum(x + column + 1, n - column - 1));
}

void check_targets(const TensorView& targets, std::int64_t vocabulary) {
  const auto* const ids = targets.as<const std::int32_t>();
  for (std::int64_t r = 0; r < targets.elements(); ++r) {
    if (ids[r] == kNoTarget) continue;
    if (ids[r] < 0 || ids[r] >= vocabulary) {
      throw BadInput("cross entropy: target " + std::to_string(ids[r]) + " at position " + std::to_string(r) +
                     " of the batch is outside the vocabulary of " + std::to_string(vocabulary));
    }
  }
}

// Divided by the number of targets if that was counted: infinite if there are no targets, but then no row uses it.
double gradient_scale(double scale, const TensorView& counted_targets) {
  return counted_targets.defined() ? scale / *counted_targets.as<const double>() : scale;
}

// For a row without a target.
template <class T>
void clear_row(T* gradient, std::int64_t width, float& loss) {
  std::fill_n(gradient, width, from_f32<T>(0.0F));
  loss = 0.0F;
}

// The size of the whole vocabulary, of which the logits may be a part.
std::int64_t vocabulary(const TokenRange& range, const RowsView& logits) {
  return range.all > 0 ? range.all : logits.shape[1];
}

// A row, combined from the parts of all ranks.
struct WholeRow {
  double maximum = std::numeric_limits<double>::lowest();
  double sum = 0.0;  // of exp(x - maximum)
  double target = 0.0;
};

// The extents of [ranks, statistics, rows].
struct PartsShape {
  std::int64_t ranks;
  std::int64_t statistics;
  std::int64_t rows;
};

WholeRow join(const float* parts, const PartsShape& shape, std::int64_t row) {
  const auto of = [&](std::int64_t rank, std::int64_t which) {
    return static_cast<double>(parts[(rank * shape.statistics + which) * shape.rows + row]);
  };
  WholeRow whole;
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) whole.maximum = std::max(whole.maximum, of(rank, 0));
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
    whole.sum += of(rank, 1) * std::exp(of(rank, 0) - whole.maximum);
    whole.target += of(rank, 2);
  }
  return whole;
}

}  // namespace

void CpuOps::do_cross_entropy_part(const CrossEntropyPartArgs& args) {
  const std::int64_t rows = args.logits_NV.shape[0];
  const std::int64_t width = args.logits_NV.shape[1];
  check_targets(args.targets_N, vocabulary(args.range, args.logits_NV));
  const auto* const targets = args.targets_N.as<const std::int32_t>();
  auto* const statistics = args.statistics_3N.as<float>();
  const std::int64_t blocks = (width + kMaximumBlock - 1) / kMaximumBlock;
  scratch_.prepare(threads_for(rows * width), round_up(blocks, kLanes) + round_up(width, kLanes));
  with_element_type(args.logits_NV.dtype, [&]<class T>() {
    for_ranges(
        rows,
        [&](std::int64_t begin, std::int64_t end) {
          float* const maxima = scratch_.of_thread(omp_get_thread_num());
          for (std::int64_t r = begin; r < end; ++r) {
            const T* const logits = row_of<const T>(args.logits_NV, r);
            SoftmaxRow row{.exponentials = maxima + round_up(blocks, kLanes), .maxima = maxima, .maximum = 0, .sum = 0};
            exponentiate(logits, width, row);
            const std::int64_t target = targets[r] - args.range.first;
            statistics[r] = row.maximum;
            statistics[rows + r] = static_cast<float>(row.sum);
            statistics[2 * rows + r] = target >= 0 && target < width ? to_f32(logits[target]) : 0.0F;
            if (args.others_N.defined()) args.others_N.as<float>()[r] = greatest_other(logits, width, target);
          }
        },
        width);
  });
}

// Works on few numbers: the logits themselves have already been read.
void CpuOps::do_score(const ScoreArgs& args) {
  const std::int64_t rows = args.targets_N.elements();
  const std::int64_t ranks = args.statistics_R4N.shape[0];
  const auto* const targets = args.targets_N.as<const std::int32_t>();
  const auto* const statistics = args.statistics_R4N.as<const float>();
  for (std::int64_t r = 0; r < rows; ++r) {
    if (targets[r] == kNoTarget) continue;
    const WholeRow row = join(statistics, {ranks, kScoreStatistics, rows}, r);
    float other = std::numeric_limits<float>::lowest();
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      other = std::max(other, statistics[(rank * kScoreStatistics + kCrossEntropyStatistics) * rows + r]);
    }
    const double likelihood = row.target - row.maximum - std::log(row.sum);
    const bool greedy = row.target > static_cast<double>(other) && !std::isnan(likelihood);
    auto* const scores = args.scores_B3.as<double>() + (args.first + r) / args.seq_len * kScores;
    scores[0] += likelihood;
    scores[1] += 1.0;
    scores[2] += greedy ? 0.0 : 1.0;
  }
}

void CpuOps::do_cross_entropy_whole(const CrossEntropyWholeArgs& args) {
  const std::int64_t rows = args.logits_NV.shape[0];
  const std::int64_t width = args.logits_NV.shape[1];
  const std::int64_t ranks = args.statistics_R3N.shape[0];
  const auto* const targets = args.targets_N.as<const std::int32_t>();
  const double scale_of_all = gradient_scale(args.gradient_scale, args.counted_targets);
  with_element_type(args.logits_NV.dtype, [&]<class T>() {
    for_ranges(
        rows,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            T* const logits = row_of<T>(args.logits_NV, r);
            if (targets[r] == kNoTarget) {
              clear_row(logits, width, args.losses_N.as<float>()[r]);
              continue;
            }
            const WholeRow row = join(args.statistics_R3N.as<const float>(), {ranks, kCrossEntropyStatistics, rows}, r);
            const double above_target = row.maximum - row.target;
            args.losses_N.as<float>()[r] = static_cast<float>(std::log(row.sum) + above_target);
            const auto maximum = static_cast<float>(row.maximum);  // rounded as it was sent
            const auto scale = static_cast<float>(scale_of_all / row.sum);
            for (std::int64_t i = 0; i < width; i += kLanes) {
              const std::int64_t n = std::min(kLanes, width - i);
              store_up_to(logits + i, exp(load_up_to(logits + i, n) - maximum) * scale, n);
            }
            const std::int64_t target = targets[r] - args.range.first;
            if (target < 0 || target >= width) continue;
            // p - 1 from the exact p, so that cancellation does not amplify the polynomial's error.
            const double probability = std::exp(-above_target) / row.sum;
            logits[target] = from_f32<T>(static_cast<float>((probability - 1.0) * scale_of_all));
          }
        },
        width);
  });
}

void CpuOps::do_cross_entropy(const CrossEntropyArgs& args) {
  const std::int64_t rows = args.logits_NV.shape[0];
  const std::int64_t width = args.logits_NV.shape[1];
  check_targets(args.targets_N, width);
  const auto* const targets = args.targets_N.as<const std::int32_t>();
  const std::int64_t blocks = (width + kMaximumBlock - 1) / kMaximumBlock;
  const std::int64_t converted_width = args.logits_NV.dtype == DType::f32 ? 0 : round_up(width, kLanes);
  scratch_.prepare(threads_for(rows * width), round_up(blocks, kLanes) + converted_width);
  const double scale = gradient_scale(args.gradient_scale, args.counted_targets);
  with_element_type(args.logits_NV.dtype, [&]<class T>() {
    for_ranges(
        rows,
        [&](std::int64_t begin, std::int64_t end) {
          float* const maxima = scratch_.of_thread(omp_get_thread_num());
          float* const converted = maxima + round_up(blocks, kLanes);
          for (std::int64_t r = begin; r < end; ++r) {
            T* const logits = row_of<T>(args.logits_NV, r);
            if (targets[r] == kNoTarget) {
              clear_row(logits, width, args.losses_N.as<float>()[r]);
              continue;
            }
            const double target = static_cast<double>(to_f32(logits[targets[r]]));
            SoftmaxRow row{.exponentials = converted, .maxima = maxima, .maximum = 0, .sum = 0};
            if constexpr (std::is_same_v<T, float>) row.exponentials = logits;
            exponentiate(logits, width, row);
            const double above_target = static_cast<double>(row.maximum) - target;
            args.losses_N.as<float>()[r] = static_cast<float>(std::log(row.sum) + above_target);
            write_gradient(row, scale, logits, width);
            // p - 1 from the exact p, so that cancellation does not amplify the polynomial's error.
            const double probability = std::exp(-above_target) / row.sum;
            logits[targets[r]] = from_f32<T>(static_cast<float>((probability - 1.0) * scale));
          }
        },
        width);
  });
}

}  // namespace perfbench::engine::cpu
