// The bias of scores by distance (Raffel et al., "T5", arXiv:1910.10683, 2.1).
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/device/reductions.cuh"

namespace perfbench::engine::cuda {
namespace {

struct BiasShape {
  const std::int32_t* buckets;
  std::int64_t heads;
  std::int64_t seq_len;
  std::int64_t table_elements;
};

template <class T>
__global__ void bias_kernel(float* bias, const T* table, BiasShape shape) {
  const std::int64_t elements = shape.heads * shape.seq_len;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += step) {
    const std::int64_t bucket = shape.buckets[i % shape.seq_len];
    bias[i] = to_f32(table[bucket * shape.heads + i / shape.seq_len]);
  }
}

// A block has one element of the table: its threads walk the distances of all sequences side by side.
__global__ void dtable_kernel(float* dtable, const float* dbias, std::int64_t batch, BiasShape shape, Write write) {
  for (std::int64_t i = blockIdx.x; i < shape.table_elements; i += gridDim.x) {
    const std::int64_t bucket = i / shape.heads;
    float sum = 0;
    for (std::int64_t b = 0; b < batch; ++b) {
      const float* const row = dbias + (b * shape.heads + i % shape.heads) * shape.seq_len;
      for (std::int64_t d = threadIdx.x; d < shape.seq_len; d += blockDim.x) {
        if (shape.buckets[d] == bucket) sum += row[d];
      }
    }
    sum = sum_over_block(sum);
    if (threadIdx.x == 0) dtable[i] = write == Write::accumulate ? dtable[i] + sum : sum;
  }
}

}  // namespace

void CudaOps::do_relative_bias_forward(const RelativeBiasForwardArgs& args) {
  const BiasShape shape{args.buckets_T.as<const std::int32_t>(), args.bias_HT.shape[0], args.bias_HT.shape[1],
                        args.table_UH.elements()};
  with_element_type(args.table_UH.dtype, [&]<class T>() {
    launch("relative_bias", bias_kernel<T>,
           {.grid = flat_blocks(args.bias_HT.elements(), 1), .block = kFlatThreads, .stream = stream()},
           args.bias_HT.as<float>(), args.table_UH.as<const T>(), shape);
  });
}

void CudaOps::do_relative_bias_backward(const RelativeBiasBackwardArgs& args) {
  const auto& of = args.dbias_BHT.shape;
  const BiasShape shape{args.buckets_T.as<const std::int32_t>(), of[1], of[2], args.dtable_UH.elements()};
  launch("relative_bias_backward", dtable_kernel,
         {.grid = row_blocks(shape.table_elements), .block = kFlatThreads, .stream = stream()},
         args.dtable_UH.as<float>(), args.dbias_BHT.as<const float>(), of[0], shape, args.write);
}

}  // namespace perfbench::engine::cuda
