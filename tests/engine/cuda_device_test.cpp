// Which GPU a rank uses, and that threads use it.
#include "engine/cuda/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/core/error.h"
#include "tests/engine/fake_cuda/fake_cuda.h"

namespace perfbench::engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override { fake_cuda::begin(); }
};

TEST_F(CudaDeviceTest, ARankUsesTheGpuOfItsNumberOnTheNode) {
  fake_cuda::answers().devices = 4;
  EXPECT_EQ(ordinal_of_rank(0), 0);
  EXPECT_EQ(ordinal_of_rank(3), 3);
}

// As with srun --gpus-per-task=1.
TEST_F(CudaDeviceTest, ARankUsesTheOnlyGpuThatALauncherShowsIt) {
  fake_cuda::answers().devices = 1;
  EXPECT_EQ(ordinal_of_rank(3), 0);
  const CudaDevice device(ordinal_of_rank(3));
  EXPECT_EQ(device.ordinal(), 0);
}

TEST_F(CudaDeviceTest, AMissingGpuIsRefusedWithTheExistingOnes) {
  fake_cuda::answers().devices = 2;
  EXPECT_THAT([] { const CudaDevice none(ordinal_of_rank(2)); },
              ThrowsMessage<EngineError>(AllOf(HasSubstr("GPU 2 was asked for"), HasSubstr("this process sees 2"))));
}

TEST_F(CudaDeviceTest, IsSelectedForOneThreadAtATime) {
  fake_cuda::answers().devices = 2;
  const CudaDevice device(1);
  std::thread([&] { device.select(); }).join();
  const auto selected = fake_cuda::calls({"cudaSetDevice"});
  ASSERT_EQ(selected.size(), 2U);
  EXPECT_EQ(selected[0].device, 1);
  EXPECT_EQ(selected[1].device, 1);
  EXPECT_NE(selected[0].thread, selected[1].thread);
}

}  // namespace
}  // namespace perfbench::engine
