// Dropout by keyed draws. A block goes through whole rows; a thread draws for one vector at a time.
#include "engine/core/dropout_draws.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"

namespace perfbench::engine::cuda {
namespace {

struct DropoutShape {
  RngStream stream;
  const std::int32_t* step;
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t width;
  std::uint32_t threshold;
  float factor;
  Access access;
};

template <class T>
__global__ void dropout_kernel(T* out, const T* x, DropoutShape shape) {
  constexpr int N = kVector<T>;
  constexpr int kDraws = static_cast<int>(kDropoutDrawsPerWord);
  const RngStream of_step = shape.stream.at(static_cast<std::uint64_t>(*shape.step));
  for (std::int64_t row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    for (std::int64_t first = std::int64_t{threadIdx.x} * N; first < shape.width;
         first += std::int64_t{blockDim.x} * N) {
      const std::int64_t count = shape.width - first;
      float v[N];
      load(x + row * shape.width + first, count, shape.access, v);
#pragma unroll
      for (int i = 0; i < N; i += kDraws) {
        const std::uint64_t word = of_step.bits(dropout_word(shape.first_row + row, first + i, shape.width));
#pragma unroll
        for (int j = 0; j < kDraws; ++j) {
          v[i + j] = dropout_draw(word, j) >= shape.threshold ? v[i + j] * shape.factor : 0.0F;
        }
      }
      store(out + row * shape.width + first, count, shape.access, v);
    }
  }
}

}  // namespace

void CudaOps::do_dropout(const DropoutArgs& args) {
  const std::int64_t rows = args.x_RM.shape[0];
  const std::int64_t width = args.x_RM.shape[1];
  with_element_type(args.out_RM.dtype, [&]<class T>() {
    const DropoutShape shape{.stream = RngStream(args.seed, args.stream),
                             .step = args.step.as<const std::int32_t>(),
                             .first_row = args.first_row,
                             .rows = rows,
                             .width = width,
                             .threshold = dropout_threshold(args.rate),
                             .factor = dropout_factor(args.rate),
                             .access = access_of({args.out_RM.data, args.x_RM.data}, width, kVector<T>)};
    const LaunchShape launched{.grid = row_blocks(rows), .block = row_threads(width, kVector<T>), .stream = stream()};
    launch("dropout", dropout_kernel<T>, launched, args.out_RM.as<T>(), args.x_RM.as<const T>(), shape);
  });
}

}  // namespace perfbench::engine::cuda
