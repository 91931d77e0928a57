#include <algorithm>

#include "engine/ops/cuda/device/launch.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/operations/transpose_codes.h"

namespace perfbench::engine::cuda {
namespace {

constexpr unsigned kTile = 32;  // a warp reads a row of the tile and writes a column
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
  constexpr unsigned kPitch = kTile + 4;  // whole words, shifted by one bank
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
    __syncthreads();  // the next round overwrites the tile
  }
}

// A tile of words, for matrices aligned to whole words of four codes.
constexpr unsigned kWordTile = 128;
constexpr unsigned kCodesOfWord = 4;
constexpr unsigned kWords = kWordTile / kCodesOfWord;  // words in a row of the tile, and lanes of a warp

// Four rows of a word each become four columns.
__device__ inline void transpose_words(unsigned (&w)[kCodesOfWord]) {
  const unsigned low01 = __byte_perm(w[0], w[1], 0x5140);
  const unsigned low23 = __byte_perm(w[2], w[3], 0x5140);
  const unsigned high01 = __byte_perm(w[0], w[1], 0x7362);
  const unsigned high23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low01, low23, 0x5410);
  w[1] = __byte_perm(low01, low23, 0x7632);
  w[2] = __byte_perm(high01, high23, 0x5410);
  w[3] = __byte_perm(high01, high23, 0x7632);
}

__global__ void __launch_bounds__(kWords* kLanes) transpose_words_kernel(Codes codes) {
  PERFBENCH_SHARED(unsigned, tile, kWordTile* kWords);
  // The words of a column begin one bank after those of the previous lane's columns. So there are no bank conflicts,
  // whether lanes each write a word of their own columns or all read the words of one column.
  const auto place = [](unsigned column, unsigned word) {
    return column * kWords + (word + column / kCodesOfWord) % kWords;
  };
  const unsigned lane = threadIdx.x;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWordTile;
  const bool reads = column + lane * kCodesOfWord < codes.columns;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kWordTile; row < codes.rows;
       row += static_cast<std::int64_t>(gridDim.y) * kWordTile) {
#pragma unroll
    for (unsigned step = 0; step < kWords / kLanes; ++step) {
      const unsigned r = step * kLanes + threadIdx.y;
      const std::int64_t first = row + r * kCodesOfWord;
      if (!reads || first >= codes.rows) continue;
      unsigned words[kCodesOfWord];
#pragma unroll
      for (unsigned i = 0; i < kCodesOfWord; ++i) {
        words[i] =
            *reinterpret_cast<const unsigned*>(codes.in + (first + i) * codes.stride + column + lane * kCodesOfWord);
      }
      transpose_words(words);
#pragma unroll
      for (unsigned i = 0; i < kCodesOfWord; ++i) tile[place(lane * kCodesOfWord + i, r)] = words[i];
    }
    __syncthreads();
#pragma unroll
    for (unsigned step = 0; step < kWordTile / kLanes; ++step) {
      const unsigned c = step * kLanes + threadIdx.y;
      const std::int64_t first = row + lane * kCodesOfWord;
      if (column + c < codes.columns && first < codes.rows) {
        *reinterpret_cast<unsigned*>(codes.out + (column + c) * codes.rows + first) = tile[place(c, lane)];
      }
    }
    __syncthreads();  // the next round overwrites the tile
  }
}

bool lies_at_words(const Codes& codes) {
  const auto is_whole = [](std::int64_t n) { return n % kCodesOfWord == 0; };
  return is_whole(codes.rows) && is_whole(codes.columns) && is_whole(codes.stride) &&
         is_whole(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(codes.out))) &&
         is_whole(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(codes.in)));
}

}  // namespace

void transpose_codes(void* out, const RowsView& in, cudaStream_t stream) {
  const Codes codes{.out = static_cast<std::uint8_t*>(out),
                    .in = in.as<const std::uint8_t>(),
                    .rows = in.shape[0],
                    .columns = in.shape[1],
                    .stride = in.stride};
  const bool words = lies_at_words(codes);
  const auto blocks = [&](std::int64_t n) { return divide_up(n, std::int64_t{words ? kWordTile : kTile}); };
  const auto down = static_cast<unsigned>(std::clamp<std::int64_t>(blocks(codes.rows), 1, kMostBlocksYZ));
  launch("transpose_codes", words ? transpose_words_kernel : transpose_kernel,
         {.grid = {static_cast<unsigned>(blocks(codes.columns)), down},
          .block = {words ? kWords : kTile, kLanes},
          .stream = stream},
         codes);
}

}  // namespace perfbench::engine::cuda
