#include <algorithm>

#include "engine/ops/cuda/device/launch.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/operations/transpose_codes.h"

namespace perfbench::engine::cuda {
namespace {

constexpr unsigned kTile = 32;  // a warp reads a row of it, and writes a column
constexpr unsigned kLanes = 8;  // rows at once

struct Codes {
  std::uint8_t* out;
  const std::uint8_t* in;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t stride;
};

__global__ void transpose_kernel(Codes codes) {
  PERFBENCH_SHARED(std::uint8_t, tile, kTile * (kTile + 4));
  constexpr unsigned kPitch = kTile + 4;  // of whole words, one bank apart
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kTile;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kTile; row < codes.rows;
       row += static_cast<std::int64_t>(gridDim.y) * kTile) {
    for (unsigned r = threadIdx.y; r < kTile; r += kLanes) {
      if (row + r < codes.rows && column + threadIdx.x < codes.columns) {
        tile[r * kPitch + threadIdx.x] = codes.in[(row + r) * codes.stride + column + threadIdx.x];
      }
    }
    __syncthreads();
    for (unsigned c = threadIdx.y; c < kTile; c += kLanes) {
      if (column + c < codes.columns && row + threadIdx.x < codes.rows) {
        codes.out[(column + c) * codes.rows + row + threadIdx.x] = tile[threadIdx.x * kPitch + c];
      }
    }
    __syncthreads();  // the tile is written again
  }
}

}  // namespace

void transpose_codes(void* out, const RowsView& in, cudaStream_t stream) {
  const Codes codes{.out = static_cast<std::uint8_t*>(out),
                    .in = in.as<const std::uint8_t>(),
                    .rows = in.shape[0],
                    .columns = in.shape[1],
                    .stride = in.stride};
  const auto blocks = [](std::int64_t n) { return divide_up(n, static_cast<std::int64_t>(kTile)); };
  const auto down = static_cast<unsigned>(std::clamp<std::int64_t>(blocks(codes.rows), 1, kMostBlocksYZ));
  launch("transpose_codes", transpose_kernel,
         {.grid = {static_cast<unsigned>(blocks(codes.columns)), down}, .block = {kTile, kLanes}, .stream = stream},
         codes);
}

}  // namespace perfbench::engine::cuda
