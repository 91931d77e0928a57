// RMSNorm and LayerNorm. Rows are independent; the gradients of weight and bias are summed over fixed blocks of rows
// and then over the blocks, in order.
#include <cmath>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"

namespace perfbench::engine::cpu {
namespace {

// f32 only if both parameters are.
DType type_of_parameters(const NormForwardArgs& args) {
  return args.weight_M.dtype == DType::f32 && args.bias_M.defined() ? args.bias_M.dtype : args.weight_M.dtype;
}

// Not inlined: norm_forward and norm_apply must give the same bits, and so must run the same instructions.
template <class T>
[[gnu::noinline]] void normalise_row(T* y, const T* x, const float* weight, const float* bias, std::int64_t width,
                                     float mean, float rstd) {
  const auto value = [&](Vec v, Vec w, Vec b) { return (v - mean) * rstd * w + b; };
  if (bias == nullptr) {
    for_vectors(
        width, [&](std::int64_t i) { store(y + i, value(load(x + i), load(weight + i), Vec{})); },
        [&](std::int64_t i, std::int64_t n) {
          store_part(y + i, value(load_part(x + i, n), load_part(weight + i, n), Vec{}), n);
        });
    return;
  }
  for_vectors(
      width, [&](std::int64_t i) { store(y + i, value(load(x + i), load(weight + i), load(bias + i))); },
      [&](std::int64_t i, std::int64_t n) {
        store_part(y + i, value(load_part(x + i, n), load_part(weight + i, n), load_part(bias + i, n)), n);
      });
}

// x becomes residual + x.
template <class T>
void add_row(T* x, const T* residual, std::int64_t width) {
  for_vectors(
      width, [&](std::int64_t i) { store(x + i, load(residual + i) + load(x + i)); },
      [&](std::int64_t i, std::int64_t n) { store_part(x + i, load_part(residual + i, n) + load_part(x + i, n), n); });
}

struct RowStatistics {
  float mean;
  float rstd;
};

template <class T>
RowStatistics statistics_of(const T* x, std::int64_t width, spec::NormKind kind, double eps) {
  const auto n = static_cast<float>(width);
  float mean = 0.0F;
  if (kind == spec::NormKind::layernorm) mean = row_sum(x, width, [](Vec v) { return v; }) / n;
  const float variance = row_sum(x, width, [mean](Vec v) { return (v - mean) * (v - mean); }) / n;
  return {mean, static_cast<float>(1.0 / std::sqrt(static_cast<double>(variance) + eps))};
}

enum class Statistics { compute, given };

void normalise_rows(const NormForwardArgs& args, Statistics statistics,
                    const workspace::cpu::NormForwardParts& converted) {
  const std::int64_t rows = args.x_NM.shape[0];
  const std::int64_t width = args.x_NM.shape[1];
  const float* const weight = as_floats(args.weight_M, converted.weight_M);
  const float* const bias = as_floats(args.bias_M, converted.bias_M);
  float* const saved = args.statistics.as<float>();
  const bool has_mean = args.kind == spec::NormKind::layernorm;
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    T* const y = args.y_NM.as<T>();
    const T* const residual = args.residual_NM.as<const T>();
    for_ranges(
        rows,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            T* const x = row_of<T>(args.x_NM, r);
            if (residual != nullptr) add_row(x, residual + r * width, width);
            float* const rstd = saved + (has_mean ? rows + r : r);
            if (statistics == Statistics::compute) {
              const auto row = statistics_of<T>(x, width, args.kind, args.eps);
              if (has_mean) saved[r] = row.mean;
              *rstd = row.rstd;
            }
            normalise_row<T>(y + r * width, x, weight, bias, width, has_mean ? saved[r] : 0.0F, *rstd);
          }
        },
        width);
  });
}

// One row's part of the backward pass. With h = (x - mean) * rstd and g = dy * weight: dx = rstd * (g - mean(g) - h *
// mean(g h)), without mean(g) for rmsnorm; dweight = sum dy h; dbias = sum dy. Each vector of dx is written after the
// last use of dy at that place, because both may share memory.
template <class T>
struct BackwardRow {
  T* dx;
  const T* dy;
  const T* x;
  const float* weight;
  float* dweight;  // for the block of rows, or nullptr
  float* dbias;    // or nullptr
  std::int64_t width;
  RowStatistics statistics;
  spec::NormKind kind;
  Write write;

  void compute() const {
    const float mean = statistics.mean;
    const float rstd = statistics.rstd;
    const auto n = static_cast<float>(width);
    const auto sums = two_row_sums(width, [&](std::int64_t i, std::int64_t count) {
      const Vec g = load_up_to(dy + i, count) * load_up_to(weight + i, count);
      return std::pair{g, g * (load_up_to(x + i, count) - mean) * rstd};
    });
    const float mean_g = kind == spec::NormKind::layernorm ? sums.first / n : 0.0F;
    const float mean_gh = sums.second / n;
    for (std::int64_t i = 0; i < width; i += kLanes) {
      const std::int64_t count = std::min(kLanes, width - i);
      const Vec upstream = load_up_to(dy + i, count);
      const Vec h = (load_up_to(x + i, count) - mean) * rstd;
      const Vec g = upstream * load_up_to(weight + i, count);
      Vec gradient = rstd * (g - mean_g - h * mean_gh);
      if (write == Write::accumulate) gradient += load_up_to(dx + i, count);
      if (dweight != nullptr) store_up_to(dweight + i, load_up_to(dweight + i, count) + upstream * h, count);
      if (dbias != nullptr) store_up_to(dbias + i, load_up_to(dbias + i, count) + upstream, count);
      store_up_to(dx + i, gradient, count);
    }
  }
};

// out (+)= sum over blocks of partial[block][...], in the order of the blocks.
void sum_blocks(float* out, const float* partial, std::int64_t blocks, std::int64_t stride, std::int64_t width,
                Write write) {
  for_ranges(
      width,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; i += kLanes) {
          const std::int64_t count = std::min(kLanes, end - i);
          Vec sum{};
          for (std::int64_t block = 0; block < blocks; ++block) sum += load_up_to(partial + block * stride + i, count);
          if (write == Write::accumulate) sum += load_up_to(out + i, count);
          store_up_to(out + i, sum, count);
        }
      },
      blocks);
}

}  // namespace

void CpuOps::do_norm_forward(const NormForwardArgs& args) {
  normalise_rows(args, Statistics::compute,
                 place<workspace::cpu::NormForwardParts>("norm_forward", args.x_NM.shape[1], type_of_parameters(args)));
}

void CpuOps::do_norm_apply(const NormForwardArgs& args) {
  normalise_rows(args, Statistics::given,
                 place<workspace::cpu::NormForwardParts>("norm_apply", args.x_NM.shape[1], type_of_parameters(args)));
}

void CpuOps::do_norm_backward(const NormBackwardArgs& args) {
  const std::int64_t rows = args.x_NM.shape[0];
  const std::int64_t width = args.x_NM.shape[1];
  constexpr std::int64_t kBlockRows = workspace::cpu::kNormBlockRows;
  const std::int64_t blocks = workspace::cpu::norm_blocks(rows);
  const std::int64_t padded = Carver::rounded(width);
  const bool has_mean = args.kind == spec::NormKind::layernorm;
  const bool has_weight = args.dweight_M.defined();
  const bool has_bias = args.dbias_M.defined();
  const auto parts = place<workspace::cpu::NormBackwardParts>("norm_backward", rows, width, args.weight_M.dtype);
  const float* const weight = as_floats(args.weight_M, parts.weight_M);
  const float* const saved = args.statistics.as<const float>();
  float* const partial = parts.partial;
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    for_ranges(
        blocks,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t block = begin; block < end; ++block) {
            float* const dweight = partial + 2 * block * padded;
            float* const dbias = dweight + padded;
            if (has_weight) std::fill(dweight, dbias + padded, 0.0F);
            for (std::int64_t r = block * kBlockRows; r < std::min(rows, (block + 1) * kBlockRows); ++r) {
              BackwardRow<T>{.dx = row_of<T>(args.dx_NM, r),
                             .dy = row_of<const T>(args.dy_NM, r),
                             .x = row_of<const T>(args.x_NM, r),
                             .weight = weight,
                             .dweight = has_weight ? dweight : nullptr,
                             .dbias = has_bias ? dbias : nullptr,
                             .width = width,
                             .statistics = {has_mean ? saved[r] : 0.0F, saved[has_mean ? rows + r : r]},
                             .kind = args.kind,
                             .write = args.write_dx}
                  .compute();
            }
          }
        },
        kBlockRows * width);
  });
  if (has_weight) {
    sum_blocks(args.dweight_M.as<float>(), partial, blocks, 2 * padded, width, args.write_parameters);
  }
  if (has_bias) {
    sum_blocks(args.dbias_M.as<float>(), partial + padded, blocks, 2 * padded, width, args.write_parameters);
  }
}

}  // namespace perfbench::engine::cpu
