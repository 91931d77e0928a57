// Normal deviates of a named stream: RngStream::normal with the device's log and cospi in f64, which err by at most 1
// and 2 units in the last place (CUDA C++ Programming Guide, "Mathematical Functions"); with the root and the product
// the deviate is within 4 units of f64 of the exact one, and so is that of every backend: the weights are equal after
// rounding to f32 except where that lands within 2^-27 of a rounding boundary, and never further than one unit of f32
// off.
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/flat.cuh"

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

__global__ void normal_kernel(float* out, std::int64_t elements, RngStream stream, std::uint64_t first_index,
                              double mean, double std, Access access) {
  constexpr int N = kVector<float>;
  for_each_vector<N>(elements, [&](std::int64_t first, std::int64_t count) {
    float v[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const std::uint64_t index = first_index + static_cast<std::uint64_t>(first + i);
      v[i] = static_cast<float>(mean + std * normal(stream, index));
    }
    store(out + first, count, access, v);
  });
}

}  // namespace

void CudaOps::do_fill_normal(const NormalArgs& args) {
  const std::int64_t elements = args.out.elements();
  launch("fill_normal", normal_kernel, flat_shape(elements, kVector<float>, stream()), args.out.as<float>(), elements,
         RngStream(args.seed, args.stream), static_cast<std::uint64_t>(args.first_index), args.mean, args.std,
         access_of({args.out.data}, 0, 1));
}

}  // namespace perfbench::engine::cuda
