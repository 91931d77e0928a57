// Draws from named streams: for rounding, and normal deviates. The latter compute RngStream::normal with the device's
// log and cospi in f64, whose errors are at most 1 and 2 units in the last place (CUDA C++ Programming Guide,
// "Mathematical Functions"). With the root and the product, the deviate is within 4 units of f64 of the exact one, as
// in every backend. So weights are equal after rounding to f32, except if the value is within 2^-27 of a rounding
// boundary, and then they differ by one unit of f32.
#include "engine/core/stochastic_rounding.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/flat.cuh"

namespace perfbench::engine::cuda {
namespace {

// (b + 0.5) * 2^-32 for a 32-bit b.
__device__ inline double unit(std::uint64_t b) {
  return (static_cast<double>(b) + 0.5) * 0x1p-32;
}

__device__ inline double normal(const RngStream& stream, std::uint64_t index) {
  const std::uint64_t b = stream.bits(index);
  return sqrt(-2.0 * log(unit(b >> 32))) * cospi(2.0 * unit(b & 0xFFFFFFFFULL));
}

// As in Ops::NormalArgs.
struct Runs {
  std::int64_t first_index;
  std::int64_t skip;
  std::int64_t run;
  std::int64_t stride;

  __device__ std::uint64_t index(std::int64_t i) const {
    const std::int64_t j = skip + i;
    return static_cast<std::uint64_t>(first_index + j / run * stride + j % run);
  }
};

__global__ void normal_kernel(float* out, std::int64_t elements, RngStream stream, Runs runs, double mean, double std,
                              Access access) {
  constexpr int N = kVector<float>;
  for_each_vector<N>(elements, [&](std::int64_t first, std::int64_t count) {
    float v[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      v[i] = static_cast<float>(mean + std * normal(stream, runs.index(first + i)));
    }
    store(out + first, count, access, v);
  });
}

__global__ void cast_stochastic_kernel(std::uint16_t* out, const float* in, std::int64_t elements, RngStream stream,
                                       const std::int32_t* step, std::uint64_t first_word, Access access) {
  constexpr int N = kVector<std::uint16_t>;
  constexpr int kDraws = static_cast<int>(kDrawsPerWord);
  const RngStream of_step = stream.at(static_cast<std::uint64_t>(*step));
  for_each_vector<N>(elements, [&](std::int64_t first, std::int64_t count) {
    float x[N];
    load(in + first, count, access, x);
    Pack<std::uint16_t, N> rounded;
#pragma unroll
    for (int i = 0; i < N; i += kDraws) {
      const std::uint64_t word = of_step.bits(first_word + static_cast<std::uint64_t>((first + i) / kDraws));
#pragma unroll
      for (int j = 0; j < kDraws; ++j) {
        rounded.at[i + j] = stochastic_bf16(__float_as_uint(x[i + j]), rounding_draw(word, j));
      }
    }
    if (access == Access::vector && count == N) {
      *reinterpret_cast<Pack<std::uint16_t, N>*>(out + first) = rounded;
      return;
    }
    for (int i = 0; i < static_cast<int>(count); ++i) out[first + i] = rounded.at[i];
  });
}

}  // namespace

void CudaOps::do_cast_stochastic(const StochasticCastArgs& args) {
  launch("cast_stochastic", cast_stochastic_kernel, flat_shape(args.out.elements(), kVector<Bf16>, stream()),
         args.out.as<std::uint16_t>(), args.in.as<const float>(), args.out.elements(),
         RngStream(args.seed, args.stream), args.step.as<const std::int32_t>(),
         static_cast<std::uint64_t>(args.first_index / kDrawsPerWord), access_of({args.out.data, args.in.data}, 0, 1));
}

void CudaOps::do_fill_normal(const NormalArgs& args) {
  const std::int64_t elements = args.out.elements();
  launch("fill_normal", normal_kernel, flat_shape(elements, kVector<float>, stream()), args.out.as<float>(), elements,
         RngStream(args.seed, args.stream), Runs{args.first_index, args.skip, args.run, args.stride}, args.mean,
         args.std, access_of({args.out.data}, 0, 1));
}

}  // namespace perfbench::engine::cuda
