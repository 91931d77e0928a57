// Sums: in f64 over fixed blocks and then over the blocks in order; columns in f32 over fixed blocks of rows.
#include <algorithm>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"

namespace perfbench::engine::cpu {
namespace {

constexpr std::int64_t kSumBlock = 32 * 1024;  // elements
constexpr int kChains = 32;                    // independent f64 sums within a block, so that additions overlap
constexpr std::int64_t kSumBlocks = 1024;      // blocks whose sums are held at once: 8 KiB of the stack

template <class T, class F>
double block_sum(const T* x, std::int64_t n, F term) {
  double chains[kChains] = {};
  std::int64_t i = 0;
  for (; i + kChains <= n; i += kChains) {
#pragma omp simd
    for (int j = 0; j < kChains; ++j) chains[j] += term(static_cast<double>(to_f32(x[i + j])));
  }
  for (int j = 0; i + j < n; ++j) chains[j] += term(static_cast<double>(to_f32(x[i + j])));
  double sum = 0.0;
  for (const double chain : chains) sum += chain;
  return sum;
}

template <class F>
void total(TensorView out, const TensorView& x, Write write, F term) {
  const std::int64_t n = x.elements();
  const std::int64_t blocks = (n + kSumBlock - 1) / kSumBlock;
  double sum = 0.0;
  for (std::int64_t first = 0; first < blocks; first += kSumBlocks) {
    double partial[kSumBlocks];
    const std::int64_t count = std::min(kSumBlocks, blocks - first);
    with_element_type(x.dtype, [&]<class T>() {
      for_ranges(
          count,
          [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b) {
              const std::int64_t at = (first + b) * kSumBlock;
              partial[b] = block_sum(x.as<const T>() + at, std::min(kSumBlock, n - at), term);
            }
          },
          kSumBlock);
    });
    for (std::int64_t b = 0; b < count; ++b) sum += partial[b];
  }
  auto* const result = out.as<double>();
  *result = write == Write::accumulate ? *result + sum : sum;
}

constexpr std::int64_t kStripColumns = 4 * kLanes;
constexpr std::int64_t kSumRows = 64;

// Column sums of a strip, over blocks of rows and then over the blocks, for shorter chains of rounding errors.
template <class T>
void sum_strip(float* dbias, const T* dy, std::int64_t rows, std::int64_t stride, std::int64_t width, Write write) {
  Vec sum[4] = {};
  for (std::int64_t block = 0; block < rows; block += kSumRows) {
    Vec partial[4] = {};
    for (std::int64_t r = block; r < std::min(rows, block + kSumRows); ++r) {
      const T* const row = dy + r * stride;
      for (int v = 0; v < 4; ++v) {
        const std::int64_t count = std::clamp<std::int64_t>(width - v * kLanes, 0, kLanes);
        if (count > 0) partial[v] += load_up_to(row + v * kLanes, count);
      }
    }
    for (int v = 0; v < 4; ++v) sum[v] += partial[v];
  }
  for (int v = 0; v < 4; ++v) {
    const std::int64_t count = std::clamp<std::int64_t>(width - v * kLanes, 0, kLanes);
    if (count == 0) break;
    float* const out = dbias + v * kLanes;
    store_up_to(out, write == Write::accumulate ? load_up_to(out, count) + sum[v] : sum[v], count);
  }
}

}  // namespace

void CpuOps::do_sum(TensorView out_f64, TensorView x, Write write) {
  total(out_f64, x, write, [](double v) { return v; });
}

void CpuOps::do_sum_of_squares(TensorView out_f64, std::span<const TensorView> tensors, Write write) {
  if (write == Write::overwrite) *out_f64.as<double>() = 0.0;
  for (const auto& x : tensors) total(out_f64, x, Write::accumulate, [](double v) { return v * v; });
}

void CpuOps::do_read_f64(std::span<double> to, TensorView values) {
  std::copy_n(values.as<const double>(), to.size(), to.begin());
}

void CpuOps::do_bias_backward(TensorView dbias, RowsView dy, Write write) {
  const std::int64_t rows = dy.shape[0];
  const std::int64_t columns = dy.shape[1];
  const std::int64_t strips = (columns + kStripColumns - 1) / kStripColumns;
  with_element_type(dy.dtype, [&]<class T>() {
    for_ranges(
        strips,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t s = begin; s < end; ++s) {
            const std::int64_t first = s * kStripColumns;
            sum_strip(dbias.as<float>() + first, dy.as<const T>() + first, rows, dy.stride,
                      std::min(kStripColumns, columns - first), write);
          }
        },
        rows * kStripColumns);
  });
}

}  // namespace perfbench::engine::cpu
