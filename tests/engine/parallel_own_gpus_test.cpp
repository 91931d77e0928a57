// Ranks that see the same GPU get this error before any other failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/error.h"
#include "engine/parallel/cuda/own_gpus.h"
#include "tests/engine/fake_cuda/fake_cuda.h"
#include "tests/engine/one_of_several_ranks.h"

namespace perfbench::engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;
using testing::ThrowsMessage;

class OwnGpus : public testing::Test {
 protected:
  void SetUp() override {
    fake_cuda::begin();
    fake_cuda::answers().devices = 2;
  }
  // This rank's device has the given number; so has the other rank's, if it is set to answer the same.
  void require(int ordinal) {
    const CudaDevice device(ordinal);
    require_own_gpus(device, processes_);
  }
  OneOfSeveralRanks processes_{1};
};

TEST_F(OwnGpus, AreNamedAsTheDriverNamesThem) {
  EXPECT_EQ(CudaDevice(1).uuid(), "GPU-a1a2a3a4-a5a6-a7a8-a9aa-abacadaeaf01");
  fake_cuda::answers().gpus_have_uuids = false;
  EXPECT_EQ(CudaDevice(1).uuid(), "");
}

TEST_F(OwnGpus, AreAccepted) {
  EXPECT_NO_THROW(require(0));
}

// CUDA_VISIBLE_DEVICES=0 for all ranks: each sees one GPU, number 0.
TEST_F(OwnGpus, ASharedGpuIsRefusedWithItsRanks) {
  processes_.others_say_the_same = true;
  const auto shared = [&] { require(1); };
  EXPECT_THAT(shared, Throws<EngineError>(Property(&EngineError::exit, EngineExit::infeasible)));
  EXPECT_THAT(shared, ThrowsMessage<EngineError>(AllOf(HasSubstr("found ranks 0, 1 on one, GPU-a1a2a3a4-"),
                                                       HasSubstr("CUDA_VISIBLE_DEVICES"))));
}

TEST_F(OwnGpus, GpusThatTheDriverCannotDistinguishAreAccepted) {
  fake_cuda::answers().gpus_have_uuids = false;
  processes_.others_say_the_same = true;
  EXPECT_NO_THROW(require(0));
}

}  // namespace
}  // namespace perfbench::engine
