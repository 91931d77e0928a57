// Rounding to 8 bits: one pass for the largest magnitude, which is exact in any order, and one that rounds.
#include <algorithm>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/vector.h"

namespace perfbench::engine::cpu {
namespace {

// Calls f(first row, rows) on parts of the rows; contiguous rows count as one row with all elements.
template <class F>
void for_rows(const RowsView& like, bool dense, F&& f) {
  const std::int64_t rows = dense ? like.elements() : like.shape[0];
  for_ranges(rows, f, dense ? 1 : like.shape[1]);
}

Vec magnitude(Vec v) {
  return reinterpret_cast<Vec>(reinterpret_cast<UintVec>(v) & 0x7FFFFFFFU);
}

// The largest magnitude, ignoring NaN.
template <class T>
float largest_magnitude(const T* x, std::int64_t n) {
  Vec most{};
  for_vectors(
      n, [&](std::int64_t i) { most = max(magnitude(load(x + i)), most); },
      [&](std::int64_t i, std::int64_t part) { most = max(magnitude(load_part(x + i, part)), most); });
  return max_lanes(most);
}

template <class T>
float largest_magnitude(const RowsView& x) {
  float most = 0;
  for_rows(x, x.is_dense(), [&](std::int64_t begin, std::int64_t end) {
    float own = 0;
    if (x.is_dense()) {
      own = largest_magnitude(x.as<const T>() + begin, end - begin);
    } else {
      for (std::int64_t r = begin; r < end; ++r)
        own = std::max(own, largest_magnitude(row_of<const T>(x, r), x.shape[1]));
    }
#pragma omp critical(largest_magnitude)
    most = std::max(most, own);
  });
  return most;
}

template <class To, class From>
void round_to_codes(To* out, const From* in, std::int64_t n, float scale) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = from_f32<To>(to_f32(in[i]) * scale);
}

template <class To, class From>
void round_to_codes(const RowsView& out, const RowsView& in, float scale) {
  const bool dense = out.is_dense() && in.is_dense();
  for_rows(in, dense, [&](std::int64_t begin, std::int64_t end) {
    if (dense) return round_to_codes(out.as<To>() + begin, in.as<const From>() + begin, end - begin, scale);
    for (std::int64_t r = begin; r < end; ++r) {
      round_to_codes(row_of<To>(out, r), row_of<const From>(in, r), in.shape[1], scale);
    }
  });
}

}  // namespace

void CpuOps::do_quantize(const QuantizeArgs& args) {
  const bool delayed = args.scaling == spec::Fp8Scaling::delayed;
  auto& amax = *args.state.amax.as<float>();
  auto& scale = *args.state.scale.as<float>();
  if (!delayed) amax = 0;
  for (const auto& tensor : args.tensors) {
    with_element_type(tensor.in.dtype, [&]<class T>() { amax = std::max(amax, largest_magnitude<T>(tensor.in)); });
  }
  if (!delayed) {
    scale = float8_scale(float8_format(args.tensors.front().out.dtype), amax);
    *args.state.inverse_scale.as<float>() = 1.0F / scale;
  }
  for (const auto& tensor : args.tensors) {
    with_float8_type(tensor.out.dtype, [&]<class To>() {
      with_element_type(tensor.in.dtype, [&]<class From>() { round_to_codes<To, From>(tensor.out, tensor.in, scale); });
    });
  }
}

void CpuOps::do_update_scales(const UpdateScalesArgs& args) {
  const std::int64_t steps = args.history_HS.shape[0];
  const std::int64_t states = args.history_HS.shape[1];
  auto* const amax = args.amax_S.as<float>();
  auto* const history = args.history_HS.as<float>();
  std::copy_backward(history, history + (steps - 1) * states, history + steps * states);
  std::copy_n(amax, states, history);
  std::fill_n(amax, states, 0.0F);
  for (std::int64_t s = 0; s < states; ++s) {
    float most = 0;
    for (std::int64_t step = 0; step < steps; ++step) most = std::max(most, history[step * states + s]);
    const float scale = float8_scale(float8_format(args.format), most);
    args.scale_S.as<float>()[s] = scale;
    args.inverse_scale_S1.as<float>()[s * args.inverse_scale_S1.stride] = 1.0F / scale;
  }
}

}  // namespace perfbench::engine::cpu
