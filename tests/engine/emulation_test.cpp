// Tests the emulator: that it computes correctly, and that it detects the errors of kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/cuda/cuda_device.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/ops/cuda/device/launch.cuh"

namespace perfbench::engine::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr unsigned kFull = 0xFFFFFFFFU;

// Pinned memory, which both host and device can access.
template <class T>
class Pinned {
 public:
  explicit Pinned(std::size_t count) : count_(count) {
    cuda_check(cudaMallocHost(reinterpret_cast<void**>(&data_), count * sizeof(T)), "cudaMallocHost");
  }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  T* data() const { return data_; }
  std::vector<T> values() const { return {data_, data_ + count_}; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

// The error text that a launch leads to.
template <class... Parameters, class... Arguments>
std::string error_of(void (*kernel)(Parameters...), const LaunchShape& shape, Arguments... arguments) {
  try {
    launch("the_kernel", kernel, shape, arguments...);
    cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  } catch (const EngineError& error) {
    cudaGetLastError();
    return error.what();
  }
  return "";
}

__global__ void reverse_through_shared(int* out, const int* in) {
  PERFBENCH_SHARED(int, staged, 96);
  staged[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = staged[blockDim.x - 1 - threadIdx.x];
}

TEST(Emulation, ThreadsOfABlockExchangeThroughSharedMemory) {
  const Pinned<int> in(96 * 3), out(96 * 3);
  for (int i = 0; i < 96 * 3; ++i) in.data()[i] = i;
  launch("reverse", reverse_through_shared, {.grid = 3, .block = 96}, out.data(), in.data());
  cudaDeviceSynchronize();
  for (int i = 0; i < 96 * 3; ++i) EXPECT_EQ(out.data()[i], i / 96 * 96 + 95 - i % 96);
}

__global__ void places(int* out) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = static_cast<int>(thread + 1000 * block);
}

TEST(Emulation, EveryThreadOfAThreeDimensionalLaunchRunsOnce) {
  const Pinned<int> out(24 * 30);
  launch("places", places, {.grid = {2, 3, 5}, .block = {4, 3, 2}}, out.data());
  cudaDeviceSynchronize();
  for (int i = 0; i < 24 * 30; ++i) EXPECT_EQ(out.data()[i], i % 24 + 1000 * (i / 24));
}

__global__ void shuffles(float* out) {
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const auto x = static_cast<float>(lane);
  float sum = x;
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(kFull, sum, distance);
  float* const mine = out + 6 * threadIdx.x;
  mine[0] = sum;
  mine[1] = __shfl_sync(kFull, x, 5);
  mine[2] = __shfl_down_sync(kFull, x, 3U, 8);
  mine[3] = __shfl_up_sync(kFull, x, 3U);
  // Two halves of a warp on different paths.
  mine[4] = lane < 16 ? __shfl_sync(0xFFFFU, x, 1) : __shfl_sync(0xFFFF0000U, x, 17);
  mine[5] = static_cast<float>(__ballot_sync(kFull, lane % 2) == 0xAAAAAAAAU && __any_sync(kFull, lane == 7) != 0 &&
                               __all_sync(kFull, lane == 7) == 0);
}

TEST(Emulation, ShufflesAndVotesAreThoseOfAWarp) {
  const Pinned<float> out(6 * 64);
  launch("shuffles", shuffles, {.grid = 1, .block = 64}, out.data());
  cudaDeviceSynchronize();
  for (int i = 0; i < 64; ++i) {
    const int lane = i % 32;
    const float* const mine = out.data() + 6 * i;
    EXPECT_EQ(mine[0], 496.0F);
    EXPECT_EQ(mine[1], 5.0F);
    EXPECT_EQ(mine[2], static_cast<float>(lane % 8 + 3 < 8 ? lane + 3 : lane));
    EXPECT_EQ(mine[3], static_cast<float>(lane < 3 ? lane : lane - 3));
    EXPECT_EQ(mine[4], lane < 16 ? 1.0F : 17.0F);
    EXPECT_EQ(mine[5], 1.0F);
  }
}

__global__ void counts(int* out) {
  const int low = __syncthreads_count(threadIdx.x < 40 ? 1 : 0);
  const int any = __syncthreads_or(threadIdx.x == 99 ? 1 : 0);
  const int all = __syncthreads_and(threadIdx.x != 3 ? 1 : 0);
  if (threadIdx.x == 0) out[0] = low * 100 + any * 10 + all;
}

TEST(Emulation, BarriersCount) {
  const Pinned<int> out(1);
  launch("counts", counts, {.grid = 1, .block = 100}, out.data());
  cudaDeviceSynchronize();
  EXPECT_EQ(out.data()[0], 4010);
}

__global__ void dynamic_sum(float* out, int count) {
  PERFBENCH_DYNAMIC_SHARED(float, values);
  const auto other = values + count;
  other[threadIdx.x] = 1.0F;
  values[threadIdx.x] = 2.0F;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float sum = 0.0F;
  for (int i = 0; i < 2 * count; ++i) sum += values[i];
  out[blockIdx.x] = sum;
}

TEST(Emulation, DynamicSharedMemoryHasTheBytesOfTheLaunch) {
  const Pinned<float> out(2);
  launch("dynamic", dynamic_sum, {.grid = 2, .block = 20, .shared_bytes = 160}, out.data(), 20);
  cudaDeviceSynchronize();
  EXPECT_EQ(out.values(), (std::vector<float>{60.0F, 60.0F}));
  EXPECT_THAT(error_of(dynamic_sum, {.grid = 1, .block = 20, .shared_bytes = 156}, out.data(), 20),
              HasSubstr("shared array of 19 elements"));
}

__global__ void read_unwritten(float* out) {
  PERFBENCH_SHARED(float, values, 32);
  if (blockIdx.x == 0) values[threadIdx.x] = 1.0F;
  out[blockIdx.x * 32 + threadIdx.x] = values[threadIdx.x];
}

TEST(Emulation, SharedMemoryAndAllocationsAreNanUntilWritten) {
  const Pinned<float> out(64);
  EXPECT_TRUE(std::isnan(out.data()[0]));
  launch("read_unwritten", read_unwritten, {.grid = 2, .block = 32}, out.data());
  cudaDeviceSynchronize();
  EXPECT_EQ(out.data()[31], 1.0F);
  EXPECT_TRUE(std::isnan(out.data()[32]));
}

__global__ void forgets_a_barrier(float* out) {
  PERFBENCH_SHARED(float, values, 64);
  values[threadIdx.x] = 1.0F;
  out[blockIdx.x * 64 + threadIdx.x] = values[63 - threadIdx.x];
}

TEST(Emulation, AForgottenBarrierShows) {
  const Pinned<float> out(128);
  launch("forgets_a_barrier", forgets_a_barrier, {.grid = 2, .block = 64}, out.data());
  cudaDeviceSynchronize();
  EXPECT_TRUE(std::isnan(out.data()[0]));    // the first threads run first
  EXPECT_TRUE(std::isnan(out.data()[127]));  // the last ones run first
}

__global__ void barrier_for_some() {
  if (threadIdx.x < 40) __syncthreads();
}
__global__ void different_barriers() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __shfl_sync(kFull, 1, 0);
    if (threadIdx.x == 33) __syncwarp();
  }
}
__global__ void shuffle_with_the_gone() {
  if (threadIdx.x != 7) __shfl_xor_sync(kFull, 1, 1);
}
__global__ void reads_beyond_the_mask() {
  if (threadIdx.x < 16) __shfl_sync(0xFFFFU, 1, 20);
}
__global__ void not_in_the_mask() {
  __syncwarp(2U);
}

TEST(Emulation, ADeadlockIsAnErrorWithKernelAndBlock) {
  EXPECT_THAT(error_of(barrier_for_some, {.grid = 1, .block = 64}),
              AllOf(HasSubstr("kernel the_kernel, block (0, 0, 0)"), HasSubstr("40 at __syncthreads; 24 have ended")));
  EXPECT_THAT(error_of(different_barriers, {.grid = 1, .block = 64}),
              AllOf(HasSubstr("32 at __syncthreads"), HasSubstr("1 at __syncwarp")));
  EXPECT_THAT(error_of(shuffle_with_the_gone, {.grid = 1, .block = 32}),
              AllOf(HasSubstr("31 at a shuffle"), HasSubstr("1 have ended")));
  EXPECT_THAT(error_of(reads_beyond_the_mask, {.grid = 1, .block = 32}), HasSubstr("reads lane 20"));
  EXPECT_THAT(error_of(not_in_the_mask, {.grid = 1, .block = 32}), HasSubstr("leaves out its caller"));
  // The next kernel runs as if nothing had happened.
  const Pinned<int> out(1);
  EXPECT_EQ(error_of(counts, {.grid = 1, .block = 100}, out.data()), "");
}

__global__ void index_beyond() {
  PERFBENCH_SHARED(int, values, 10);
  values[threadIdx.x] = 1;
}
__global__ void writes_beside() {
  PERFBENCH_SHARED(int, values, 10);
  int* const raw = values;
  raw[threadIdx.x] = 1;
}

TEST(Emulation, WritesBesideSharedArraysAreErrors) {
  EXPECT_THAT(error_of(index_beyond, {.grid = 1, .block = 11}),
              AllOf(HasSubstr("thread (10, 0, 0)"), HasSubstr("index 10 of a shared array of 10")));
  EXPECT_THAT(error_of(writes_beside, {.grid = 1, .block = 11}), HasSubstr("beside a shared array of 40 bytes"));
  EXPECT_EQ(error_of(writes_beside, {.grid = 1, .block = 10}), "");
}

__global__ void takes_all_but_a_kilobyte(int* out) {
  PERFBENCH_SHARED(int, of_all, 256);
  PERFBENCH_DYNAMIC_SHARED(int, rest);
  of_all[0] = 1;
  rest[0] = 2;
  *out = of_all[0] + rest[0];
}

// A kernel's own arrays and those of its launch share a block's 48 KiB.
TEST(Emulation, LaunchesRequestSharedMemoryForTheKernelsOwnArraysToo) {
  const Pinned<int> out(1);
  EXPECT_EQ(error_of(takes_all_but_a_kilobyte, {.grid = 1, .block = 1, .shared_bytes = 48 << 10}, out.data()), "");
  EXPECT_EQ(out.values(), std::vector<int>{3});
}

__global__ void permutes(unsigned* out, unsigned x, unsigned y) {
  out[0] = __byte_perm(x, y, 0x3210);
  out[1] = __byte_perm(x, y, 0x7654);
  out[2] = __byte_perm(x, y, 0x5140);
  out[3] = __byte_perm(x, y, 0x0637);
}

TEST(Emulation, BytePermSelectsBytesByNumberFromTheLowest) {
  const Pinned<unsigned> out(4);
  launch("permutes", permutes, {.grid = 1, .block = 1}, out.data(), 0x33221100U, 0x77665544U);
  cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  EXPECT_EQ(out.values(), (std::vector<unsigned>{0x33221100U, 0x77665544U, 0x55114400U, 0x00663377U}));
}

TEST(Emulation, LaunchesBeyondCudasLimitsAreErrors) {
  const Pinned<int> out(1);
  for (const LaunchShape& shape :
       {LaunchShape{.grid = 0, .block = 32}, LaunchShape{.grid = 1, .block = 1025},
        LaunchShape{.grid = {1, 65536}, .block = 1}, LaunchShape{.grid = 1, .block = 1, .shared_bytes = 228 << 10}}) {
    EXPECT_THAT(error_of(counts, shape, out.data()), HasSubstr("cudaErrorInvalidConfiguration"));
  }
}

TEST(EmulatedRuntime, NothingRunsUntilItIsWaitedFor) {
  const Pinned<int> out(96), in(96);
  std::fill(in.data(), in.data() + 96, 3);
  const CudaDevice device(0);
  launch("reverse", reverse_through_shared, {.grid = 1, .block = 96, .stream = device.compute()}, out.data(),
         in.data());
  EXPECT_EQ(out.data()[0], -1);
  device.synchronize();
  EXPECT_EQ(out.data()[0], 3);
}

TEST(EmulatedRuntime, CopiesReadPinnedMemoryInStreamOrderAndPageableMemoryAtOnce) {
  const CudaDevice device(0);
  const Pinned<int> pinned(1);
  const auto memory = make_cuda_backing(device, 256);
  auto* const on_device = static_cast<int*>(memory->at(0, 4));
  auto* const other = static_cast<int*>(memory->at(16, 4));
  std::vector<int> pageable{1};
  pinned.data()[0] = 1;
  cudaMemcpyAsync(on_device, pinned.data(), 4, cudaMemcpyDefault, device.compute());
  cudaMemcpyAsync(other, pageable.data(), 4, cudaMemcpyDefault, device.compute());
  pinned.data()[0] = pageable[0] = 2;
  device.synchronize();
  EXPECT_EQ(*on_device, 2);
  EXPECT_EQ(*other, 1);
}

TEST(EmulatedRuntime, AStreamWaitsForTheEventOfAnother) {
  const CudaDevice device(0);
  const Pinned<int> a(1), b(1);
  cudaEvent_t event = nullptr;
  cudaEventCreate(&event);
  cudaMemsetAsync(a.data(), 0, 4, device.copies());
  cudaEventRecord(event, device.copies());
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  cudaStreamWaitEvent(device.compute(), event, 0);
  cudaMemcpyAsync(b.data(), a.data(), 4, cudaMemcpyDefault, device.compute());
  cudaStreamSynchronize(device.compute());
  EXPECT_EQ(b.data()[0], 0);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  cudaEventDestroy(event);
}

TEST(EmulatedRuntime, TheDevicesMemoryIsLimitedAndItsErrorNamesIt) {
  const CudaDevice device(0);
  EXPECT_THROW(
      {
        try {
          make_cuda_backing(device, std::int64_t{1} << 40);
        } catch (const OutOfMemory& error) {
          EXPECT_THAT(error.what(), HasSubstr("emulated sm_90"));
          throw;
        }
      },
      OutOfMemory);
}

__global__ void write_at(int* out, int i) {
  out[i] = 1;
}

TEST(EmulatedRuntimeDeathTest, AWriteBeyondAnAllocationEndsTheProgram) {
  EXPECT_DEATH(
      {
        const Pinned<int> out(10);
        launch("write_at", write_at, {.grid = 1, .block = 1}, out.data(), 10);
      },
      "beyond the end of an allocation of 40 bytes|heap-buffer-overflow");
}

}  // namespace
}  // namespace perfbench::engine::cuda
