// Rounding to 8 bits, and its scales. Delayed scaling takes one pass over memory; a current scale first takes one more
// for the largest magnitude.
#include <numeric>

#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/flat.cuh"
#include "engine/ops/cuda/device/float8_codes.cuh"
#include "engine/ops/cuda/device/reductions.cuh"

namespace perfbench::engine::cuda {
namespace {

template <class T>
struct RoundedRows {
  std::uint8_t* out;
  const T* in;
  std::int64_t out_stride;
  std::int64_t in_stride;
  RowExtent extent;
  Access access;
};

template <class T>
RoundedRows<T> rounded_rows(const QuantizeArgs::Rounded& tensor) {
  const auto& [out, in] = tensor;
  const bool dense = out.is_dense() && in.is_dense();
  const std::int64_t stride = std::gcd(out.stride, in.stride);
  return {.out = out.as<std::uint8_t>(),
          .in = in.as<const T>(),
          .out_stride = out.stride,
          .in_stride = in.stride,
          .extent = dense ? one_row(in.shape) : rows_of(in.shape),
          .access = access_of({out.data, in.data}, dense ? 0 : stride, kVector<T>)};
}

// Among magnitudes, the larger one has bits that are the larger integer, so the order of blocks does not matter.
__device__ inline void note_largest(float of_thread, float* amax) {
  const float most = over_block(of_thread, 0.0F, Maximum{});
  if (threadIdx.x == 0) atomicMax(reinterpret_cast<unsigned*>(amax), __float_as_uint(most));
}

template <class T>
__global__ void largest_kernel(RoundedRows<T> rows, float* amax) {
  constexpr int N = kVector<T>;
  float most = 0.0F;
  for_each_vector_of_rows<N>(rows.extent, [&](std::int64_t row, std::int64_t first, std::int64_t count) {
    float x[N];
    load(rows.in + row * rows.in_stride + first, count, rows.access, x);
#pragma unroll
    for (int i = 0; i < N; ++i) most = fmaxf(most, fabsf(x[i]));
  });
  note_largest(most, amax);
}

// amax may be nullptr, if it is known.
template <class T>
__global__ void round_kernel(RoundedRows<T> rows, Float8Format format, const float* scale, float* amax) {
  constexpr int N = kVector<T>;
  const float factor = *scale;
  float most = 0.0F;
  for_each_vector_of_rows<N>(rows.extent, [&](std::int64_t row, std::int64_t first, std::int64_t count) {
    float x[N];
    load(rows.in + row * rows.in_stride + first, count, rows.access, x);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      most = fmaxf(most, fabsf(x[i]));
      x[i] *= factor;
    }
    const Pack<std::uint8_t, N> codes = float8_codes(format, x);
    std::uint8_t* const out = rows.out + row * rows.out_stride + first;
    if (rows.access == Access::vector && count == N) {
      require_aligned(out, sizeof(codes));
      *reinterpret_cast<Pack<std::uint8_t, N>*>(out) = codes;
    } else {
      for (int i = 0; i < count; ++i) out[i] = codes.at[i];
    }
  });
  if (amax != nullptr) note_largest(most, amax);
}

__global__ void scale_kernel(Float8Format format, const float* amax, float* scale, float* inverse) {
  *scale = float8_scale(format, *amax);
  *inverse = 1.0F / *scale;
}

struct ScaleStates {
  float* amax;
  float* history;
  float* scale;
  float* inverse;
  std::int64_t inverse_stride;
  std::int64_t steps;
  std::int64_t states;
};

__global__ void update_scales_kernel(ScaleStates s, Float8Format format) {
  for_each_vector<1>(s.states, [&](std::int64_t i, std::int64_t) {
    float most = s.amax[i];
    for (std::int64_t step = s.steps - 1; step > 0; --step) {
      const float before = s.history[(step - 1) * s.states + i];
      s.history[step * s.states + i] = before;
      most = fmaxf(most, before);
    }
    s.history[i] = s.amax[i];
    s.amax[i] = 0.0F;
    s.scale[i] = float8_scale(format, most);
    s.inverse[i * s.inverse_stride] = 1.0F / s.scale[i];
  });
}

}  // namespace

void CudaOps::do_quantize(const QuantizeArgs& args) {
  const bool delayed = args.scaling == spec::Fp8Scaling::delayed;
  const Float8Format format = float8_format(args.tensors.front().out.dtype);
  float* const amax = args.state.amax.as<float>();
  float* const scale = args.state.scale.as<float>();
  const auto for_each_tensor = [&](auto&& f) {
    for (const auto& tensor : args.tensors) {
      with_element_type(tensor.in.dtype, [&]<class T>() {
        const auto rows = rounded_rows<T>(tensor);
        f(rows, rows_shape(rows.extent, kVector<T>, stream()));
      });
    }
  };
  if (!delayed) {
    do_fill(args.state.amax, 0.0);
    for_each_tensor([&]<class T>(const RoundedRows<T>& rows, const LaunchShape& shape) {
      launch("largest_magnitude", largest_kernel<T>, shape, rows, amax);
    });
    launch("scale", scale_kernel, LaunchShape{.grid = 1, .block = 1, .stream = stream()}, format,
           static_cast<const float*>(amax), scale, args.state.inverse_scale.as<float>());
  }
  for_each_tensor([&]<class T>(const RoundedRows<T>& rows, const LaunchShape& shape) {
    launch("quantize", round_kernel<T>, shape, rows, format, static_cast<const float*>(scale),
           delayed ? amax : nullptr);
  });
}

void CudaOps::do_update_scales(const UpdateScalesArgs& args) {
  const ScaleStates states{.amax = args.amax_S.as<float>(),
                           .history = args.history_HS.as<float>(),
                           .scale = args.scale_S.as<float>(),
                           .inverse = args.inverse_scale_S1.as<float>(),
                           .inverse_stride = args.inverse_scale_S1.stride,
                           .steps = args.history_HS.shape[0],
                           .states = args.history_HS.shape[1]};
  launch("update_scales", update_scales_kernel, flat_shape(states.states, 1, stream()), states,
         float8_format(args.format));
}

}  // namespace perfbench::engine::cuda
