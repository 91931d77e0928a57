// Loss and its gradient in the place of the logits: a row is read once from memory (maximum and sum together), and once
// more, from cache, to be overwritten.
#include <cmath>
#include <limits>

#include "engine/core/error.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"
#include "engine/ops/cpu/vector_math.h"

namespace perfbench::engine::cpu {
namespace {

constexpr std::int64_t kBlock = 1024;  // elements whose maximum is taken before they are summed; fits in the L1 cache

struct SoftmaxRow {
  float maximum;
  double sum;  // of exp(x - maximum)
};

template <class T>
float block_maximum(const T* x, std::int64_t n) {
  const Vec lowest = splat(-std::numeric_limits<float>::infinity());
  Vec most[2] = {lowest, lowest};
  int turn = 0;
  for (std::int64_t i = 0; i < n; i += kLanes, turn = 1 - turn) {
    const std::int64_t count = std::min(kLanes, n - i);
    most[turn] = max(keep_lanes(load_up_to(x + i, count), count, lowest), most[turn]);
  }
  return max_lanes(max(most[0], most[1]));
}

// Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018, by blocks.
template <class T>
SoftmaxRow softmax_row(const T* x, std::int64_t n) {
  SoftmaxRow row{-std::numeric_limits<float>::infinity(), 0.0};
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t count = std::min(kBlock, n - i);
    const float maximum = block_maximum(x + i, count);
    if (maximum > row.maximum) {
      row.sum *= std::exp(static_cast<double>(row.maximum) - static_cast<double>(maximum));
      row.maximum = maximum;
    }
    row.sum += static_cast<double>(row_sum(x + i, count, [&](Vec v) { return exp(v - row.maximum); }));
  }
  return row;
}

// exp(x - maximum) * factor.
template <class T>
void scaled_softmax(T* x, std::int64_t n, float maximum, float factor) {
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const std::int64_t count = std::min(kLanes, n - i);
    store_up_to(x + i, exp(load_up_to(x + i, count) - maximum) * factor, count);
  }
}

void check_targets(const TensorView& targets, std::int64_t vocabulary) {
  const auto* const ids = targets.as<const std::int32_t>();
  for (std::int64_t r = 0; r < targets.elements(); ++r) {
    if (ids[r] < 0 || ids[r] >= vocabulary) {
      throw BadInput("cross entropy: target " + std::to_string(ids[r]) + " at position " + std::to_string(r) +
                     " of the batch is outside the vocabulary of " + std::to_string(vocabulary));
    }
  }
}

}  // namespace

void CpuOps::do_cross_entropy(const CrossEntropyArgs& args) {
  const std::int64_t rows = args.logits_NV.shape[0];
  const std::int64_t width = args.logits_NV.shape[1];
  check_targets(args.targets_N, width);
  const auto* const targets = args.targets_N.as<const std::int32_t>();
  with_element_type(args.logits_NV.dtype, [&]<class T>() {
    for_ranges(
        rows,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            T* const logits = args.logits_NV.as<T>() + r * width;
            const auto [maximum, sum] = softmax_row(logits, width);
            const double target = static_cast<double>(to_f32(logits[targets[r]]));
            args.losses_N.as<float>()[r] = static_cast<float>(std::log(sum) + (static_cast<double>(maximum) - target));
            const double probability = std::exp(target - static_cast<double>(maximum)) / sum;
            scaled_softmax(logits, width, maximum, static_cast<float>(args.gradient_scale / sum));
            // p - 1 from the exact p: no cancellation on top of the polynomial's error.
            logits[targets[r]] = from_f32<T>(static_cast<float>((probability - 1.0) * args.gradient_scale));
          }
        },
        width);
  });
}

}  // namespace perfbench::engine::cpu
