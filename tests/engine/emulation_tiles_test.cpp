// The emulated tensor cores and asynchronous copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/ops/cuda/attention/flash_tiles.cuh"
#include "engine/ops/cuda/device/tile_units.cuh"

namespace perfbench::engine::cuda {
namespace {

using testing::HasSubstr;

constexpr int kStride = kTile + 8;

enum class Transposed { none, a, b };

struct alignas(32) TileMemory {
  float sum[kTile * kTile];
  Transposed transposed;
  int at[kTile * kTile];  // how often an element was found in a lane
};

template <class Units>
__global__ void multiply_tile(TileMemory* out, const float* a, const float* b) {
  using T = typename Units::Element;
  PERFBENCH_DYNAMIC_SHARED(unsigned char, shared);
  unsigned char* const memory = shared;
  T* const left = reinterpret_cast<T*>(memory);
  T* const right = left + kTile * kStride;
  float* const scratch = reinterpret_cast<float*>(right + kTile * kStride);
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < kTile * kTile; i += kWarp) {
    left[i / kTile * kStride + i % kTile] = from_f32<T>(a[i]);
    right[i / kTile * kStride + i % kTile] = from_f32<T>(b[i]);
  }
  __syncwarp();
  typename Units::Accumulator sum;
  Units::clear(sum);
  if (out->transposed == Transposed::b) {
    Units::add_product_transposed(sum, Units::load(left, kStride), right, kStride);
  } else if (out->transposed == Transposed::a) {
    Units::add_product(sum, Units::load_transposed(left, kStride), right, kStride);
  } else {
    Units::add_product(sum, Units::load(left, kStride), right, kStride);
  }
  Units::store(out->sum, sum, kTile);
  const Places places = Units::find_places(scratch);
  for (int i = 0; i < kLaneElements; ++i) {
    const int at = places.row(i) * kTile + places.column(i);
    ++out->at[at];
    if (out->sum[at] != sum.x[i]) out->at[at] += 1000;
  }
}

template <class Units>
class TileUnits : public testing::Test {};
using BothUnits = testing::Types<TensorCores, PlainFma>;
TYPED_TEST_SUITE(TileUnits, BothUnits);

// Small integers, which bf16 holds exactly, so every sum is exact.
TYPED_TEST(TileUnits, MultiplyTilesAndKnowWhereTheirElementsAre) {
  std::vector<float> a(kTile * kTile), b(kTile * kTile);
  for (int i = 0; i < kTile * kTile; ++i) {
    a[static_cast<std::size_t>(i)] = static_cast<float>(i % 7 - 3);
    b[static_cast<std::size_t>(i)] = static_cast<float>(i % 11 - 5);
  }
  for (const auto transposed : {Transposed::none, Transposed::a, Transposed::b}) {
    TileMemory out{};
    out.transposed = transposed;
    launch("multiply_tile", multiply_tile<TypeParam>, {.grid = 1, .block = kWarp, .shared_bytes = 16 << 10}, &out,
           a.data(), b.data());
    cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    for (int i = 0; i < kTile; ++i) {
      for (int j = 0; j < kTile; ++j) {
        float want = 0;
        for (int k = 0; k < kTile; ++k) {
          want += a[static_cast<std::size_t>(transposed == Transposed::a ? k * kTile + i : i * kTile + k)] *
                  b[static_cast<std::size_t>(transposed == Transposed::b ? j * kTile + k : k * kTile + j)];
        }
        EXPECT_EQ(out.sum[i * kTile + j], want) << i << " " << j;
        EXPECT_EQ(out.at[i * kTile + j], 1) << i << " " << j;
      }
    }
  }
}

struct alignas(16) Copied {
  float before;
  float after;
};

__global__ void copy_piece(Copied* out, const float* in, int offset) {
  PERFBENCH_DYNAMIC_SHARED(float, shared);
  shared[offset] = -1.0F;
  copy_async(shared + offset, in);
  out->before = shared[offset];
  wait_for_copies();
  out->after = shared[offset];
}

TEST(AsyncCopy, LandsWhenItIsWaitedFor) {
  alignas(16) const float in[4] = {1, 2, 3, 4};
  Copied out{};
  launch("copy_piece", copy_piece, {.grid = 1, .block = 1, .shared_bytes = 64}, &out, in, 4);
  cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  EXPECT_EQ(out.before, -1.0F);
  EXPECT_EQ(out.after, 1.0F);
}

__global__ void copy_in_groups(float* out, const float* in) {
  PERFBENCH_DYNAMIC_SHARED(float, shared);
  shared[4] = -1.0F;
  copy_async(shared, in);
  end_group_of_copies();
  copy_async(shared + 4, in + 4);
  end_group_of_copies();
  wait_for_groups_before();
  out[0] = shared[0];
  out[1] = shared[4];
  end_group_of_copies();
  wait_for_groups_before();
  out[2] = shared[4];
}

TEST(AsyncCopy, TheNewestGroupStaysOnItsWay) {
  alignas(16) const float in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float out[3] = {};
  launch("copy_in_groups", copy_in_groups, {.grid = 1, .block = 1, .shared_bytes = 64}, out, in);
  cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  EXPECT_EQ(out[0], 1.0F);
  EXPECT_EQ(out[1], -1.0F);
  EXPECT_EQ(out[2], 5.0F);
}

TEST(AsyncCopy, NeedsMultiplesOf16Bytes) {
  alignas(16) const float in[4] = {1, 2, 3, 4};
  Copied out{};
  launch("copy_piece", copy_piece, {.grid = 1, .block = 1, .shared_bytes = 64}, &out, in, 1);
  try {
    cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    ADD_FAILURE() << "no error";
  } catch (const EngineError& error) {
    EXPECT_THAT(error.what(), HasSubstr("16 bytes"));
  }
  cudaGetLastError();
}

}  // namespace
}  // namespace perfbench::engine::cuda
