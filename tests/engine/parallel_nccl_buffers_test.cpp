// The parts of NCCL's registered memory that need no GPU: how it is requested, what is recorded, and the message if it
// is not available.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "engine/core/error.h"
#include "engine/cuda/cuda_device.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/parallel/cuda/nccl_buffers.h"

namespace perfbench::engine {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class NcclBuffersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (nccl_user_buffers() == "absent") GTEST_SKIP() << "this NCCL registers nothing";
  }
  void TearDown() override { ::unsetenv("PERFBENCH_NCCL_REGISTER"); }
};

TEST_F(NcclBuffersTest, AreRegisteredOnRequestAlone) {
  EXPECT_FALSE(nccl_registration_wanted());
  EXPECT_EQ(nccl_user_buffers(), "not registered");
  ::setenv("PERFBENCH_NCCL_REGISTER", "1", 1);
  EXPECT_TRUE(nccl_registration_wanted());
  EXPECT_EQ(nccl_user_buffers(), "registered in runs of several GPUs");
  ::setenv("PERFBENCH_NCCL_REGISTER", "on", 1);
  EXPECT_THROW(nccl_registration_wanted(), BadInput);
}

TEST_F(NcclBuffersTest, WithoutADeviceTheErrorNamesTheRequestedBytes) {
  if (find_cuda_devices().count > 0) GTEST_SKIP() << "there is a device";
  EXPECT_THAT([] { allocate_nccl_memory(4096); }, ThrowsMessage<OutOfMemory>(HasSubstr("4096 bytes")));
  EXPECT_EQ(allocate_nccl_memory(0).base, nullptr);
}

TEST(SharedBacking, HoldsItsMemoryAndRefusesWhatLiesBeyondIt) {
  const auto bytes = std::make_shared<std::array<char, 256>>();
  auto backing = make_cuda_backing(std::shared_ptr<void>(bytes, bytes->data()), 256);
  EXPECT_EQ(bytes.use_count(), 2);
  EXPECT_EQ(backing->at(64, 192), bytes->data() + 64);
  EXPECT_THROW(backing->at(128, 192), LogicFault);
  backing.reset();
  EXPECT_EQ(bytes.use_count(), 1);
}

}  // namespace
}  // namespace perfbench::engine
