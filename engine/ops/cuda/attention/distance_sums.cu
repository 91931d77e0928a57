// Each thread takes one distance, so in every row neighbouring threads read neighbouring elements.
#include "engine/ops/cuda/attention/distance_sums.h"
#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"

namespace perfbench::engine::cuda {
namespace {

constexpr unsigned kThreads = 128;

struct DistanceSums {
  float* dbias;      // [B, H, T]
  const void* from;  // rows of T for each element
  std::int64_t heads;
  std::int64_t seq_len;
};

__device__ std::int64_t distance_of_thread() {
  return static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
}
__device__ std::int64_t head_of_block(const DistanceSums& sums) {
  return static_cast<std::int64_t>(blockIdx.z) * sums.heads + blockIdx.x;
}

template <class T>
__global__ void of_scores_kernel(DistanceSums sums) {
  const std::int64_t distance = distance_of_thread();
  if (distance >= sums.seq_len) return;
  const std::int64_t head = head_of_block(sums);
  const T* const scores = static_cast<const T*>(sums.from) + head * sums.seq_len * sums.seq_len;
  float sum = 0;
  for (std::int64_t row = distance; row < sums.seq_len; ++row) {
    sum += to_f32(scores[row * sums.seq_len + row - distance]);
  }
  sums.dbias[head * sums.seq_len + distance] = sum;
}

__global__ void of_tiles_kernel(DistanceSums sums, std::int64_t rows) {
  const std::int64_t distance = distance_of_thread();
  if (distance >= sums.seq_len) return;
  const std::int64_t head = head_of_block(sums);
  const std::int64_t tiles = (sums.seq_len + rows - 1) / rows;
  const float* const partial = static_cast<const float*>(sums.from) + head * tiles * sums.seq_len;
  float sum = 0;
  for (std::int64_t tile = distance / rows; tile < tiles; ++tile) sum += partial[tile * sums.seq_len + distance];
  sums.dbias[head * sums.seq_len + distance] = sum;
}

LaunchShape shape_of(const TensorView& dbias_BHT, cudaStream_t stream) {
  const auto& shape = dbias_BHT.shape;
  return {.grid = dim3(static_cast<unsigned>(shape[1]), static_cast<unsigned>(divide_up(shape[2], kThreads)),
                       static_cast<unsigned>(shape[0])),
          .block = dim3(kThreads),
          .stream = stream};
}

DistanceSums sums_of(const TensorView& dbias_BHT, const void* from) {
  return {dbias_BHT.as<float>(), from, dbias_BHT.shape[1], dbias_BHT.shape[2]};
}

}  // namespace

void sum_by_distance(TensorView dbias_BHT, TensorView dscores_BHTT, cudaStream_t stream) {
  with_element_type(dscores_BHTT.dtype, [&]<class T>() {
    launch("attention_distance_sums", of_scores_kernel<T>, shape_of(dbias_BHT, stream),
           sums_of(dbias_BHT, dscores_BHTT.data));
  });
}

void sum_tiles_by_distance(TensorView dbias_BHT, const float* partial, std::int64_t rows, cudaStream_t stream) {
  launch("attention_distance_sums", of_tiles_kernel, shape_of(dbias_BHT, stream), sums_of(dbias_BHT, partial), rows);
}

}  // namespace perfbench::engine::cuda
