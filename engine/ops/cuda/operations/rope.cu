// Rotary position embedding (Su et al., "RoFormer", 2021), in place. A block goes through whole rows; a thread rotates
// one vector of pairs at a time.
#include <numeric>

#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/document_rows.cuh"
#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"

namespace perfbench::engine::cuda {
namespace {

struct RopeShape {
  const float* cos_sin;
  std::int64_t rows;
  std::int64_t stride;  // of the rows
  DocumentRows documents;
  int heads;
  int half;  // half of head_dim
  float sign;
  Access access;
};

// Pairs (i, i + half).
template <class T>
__device__ void rotate_half(T* head, const float* cosines, int first, const RopeShape& shape) {
  constexpr int N = kVector<T>;
  const int count = min(N, shape.half - first);
  float c[N], s[N], x[N], y[N];
  load(cosines + first, count, shape.access, c);
  load(cosines + shape.half + first, count, shape.access, s);
  load(head + first, count, shape.access, x);
  load(head + shape.half + first, count, shape.access, y);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    s[i] *= shape.sign;
    const float turned = x[i] * c[i] - y[i] * s[i];
    y[i] = x[i] * s[i] + y[i] * c[i];
    x[i] = turned;
  }
  store(head + first, count, shape.access, x);
  store(head + shape.half + first, count, shape.access, y);
}

// Pairs (2i, 2i + 1), N / 2 of them.
template <class T>
__device__ void rotate_interleaved(T* head, const float* cosines, int first, const RopeShape& shape) {
  constexpr int N = kVector<T>;
  const int pairs = min(N / 2, shape.half - first);
  float x[N];
  load(head + 2 * first, 2 * pairs, shape.access, x);
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    if (i >= pairs) break;
    const float c = cosines[first + i];
    const float s = cosines[shape.half + first + i] * shape.sign;
    const float turned = x[2 * i] * c - x[2 * i + 1] * s;
    x[2 * i + 1] = x[2 * i] * s + x[2 * i + 1] * c;
    x[2 * i] = turned;
  }
  store(head + 2 * first, 2 * pairs, shape.access, x);
}

template <class T, spec::RopeLayout kLayout>
__global__ void rope_kernel(T* x, RopeShape shape) {
  constexpr int kPairs = kLayout == spec::RopeLayout::half ? kVector<T> : kVector<T> / 2;
  const int parts = (shape.half + kPairs - 1) / kPairs;  // of a head
  for (std::int64_t row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    const float* const cosines = shape.cos_sin + shape.documents.position(row) * 2 * shape.half;
    T* const x_row = x + row * shape.stride;
    for (int i = static_cast<int>(threadIdx.x); i < shape.heads * parts; i += static_cast<int>(blockDim.x)) {
      T* const head = x_row + static_cast<std::int64_t>(i / parts) * 2 * shape.half;
      const int first = i % parts * kPairs;
      if constexpr (kLayout == spec::RopeLayout::half) {
        rotate_half(head, cosines, first, shape);
      } else {
        rotate_interleaved(head, cosines, first, shape);
      }
    }
  }
}

}  // namespace

void CudaOps::do_rope(const RopeArgs& args) {
  const std::int64_t rows = args.x.shape[0];
  const std::int64_t width = args.x.shape[1];
  const std::int64_t half = args.head_dim / 2;
  with_element_type(args.x.dtype, [&]<class T>() {
    const RopeShape shape{
        .cos_sin = args.cos_sin_TD.as<const float>(),
        .rows = rows,
        .stride = args.x.stride,
        .documents = document_rows(args.first_N, args.cos_sin_TD.shape[0]),
        .heads = static_cast<int>(width / args.head_dim),
        .half = static_cast<int>(half),
        .sign = args.direction == Direction::forward ? 1.0F : -1.0F,
        .access = access_of({args.x.data, args.cos_sin_TD.data}, std::gcd(half, args.x.stride), kVector<T>)};
    const LaunchShape launch_shape{
        .grid = row_blocks(rows), .block = row_threads(width, 2 * kVector<T>), .stream = stream()};
    if (args.layout == spec::RopeLayout::half) {
      launch("rope", rope_kernel<T, spec::RopeLayout::half>, launch_shape, args.x.as<T>(), shape);
    } else {
      launch("rope", rope_kernel<T, spec::RopeLayout::interleaved>, launch_shape, args.x.as<T>(), shape);
    }
  });
}

}  // namespace perfbench::engine::cuda
