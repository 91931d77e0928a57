// Recordings as CUDA graphs: the calls of the runtime, and that they leave nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "engine/core/error.h"
#include "engine/cuda/cuda_device.h"
#include "engine/ops/cuda/host/recordings.h"
#include "tests/engine/fake_cuda/fake_cuda.h"

namespace perfbench::engine {
namespace {

using cuda::GraphRecorder;
using fake_cuda::calls;
using fake_cuda::names_of;
using testing::ElementsAre;
using testing::IsEmpty;

class CudaRecordingsTest : public testing::Test {
 protected:
  void SetUp() override {
    fake_cuda::begin();
    handles_before_ = fake_cuda::handles();
    recorder_.emplace(device_.compute());
  }
  std::unique_ptr<Recording> record(std::unique_ptr<Recording> earlier = nullptr) {
    recorder_->begin();
    return recorder_->end(std::move(earlier));
  }
  std::int64_t handles() const { return fake_cuda::handles() - handles_before_; }

  CudaDevice device_{0};
  std::int64_t handles_before_ = 0;
  std::optional<GraphRecorder> recorder_;
};

TEST_F(CudaRecordingsTest, AreLaunchedWhenTheyEndAndAtEachReplay) {
  const auto step = record();
  step->replay();
  EXPECT_THAT(names_of(calls({"cudaGraphInstantiate", "cudaGraphLaunch"})),
              ElementsAre("cudaGraphInstantiate", "cudaGraphLaunch", "cudaGraphLaunch"));
}

TEST_F(CudaRecordingsTest, TheSameOperationsAreUpdatedAndOthersMadeAnew) {
  auto layer = record();
  layer = record(std::move(layer));
  EXPECT_EQ(calls({"cudaGraphInstantiate"}).size(), 1U);
  fake_cuda::answers().graphs_update = false;
  layer = record(std::move(layer));
  EXPECT_THAT(names_of(calls({"cudaGraphInstantiate", "cudaGraphExecDestroy"})),
              ElementsAre("cudaGraphInstantiate", "cudaGraphExecDestroy", "cudaGraphInstantiate"));
  EXPECT_EQ(names_of(calls({"cudaGraphLaunch"})).size(), 3U);
  EXPECT_EQ(handles(), 1);
}

// The runtime would report that an update succeeded, and launch other kernels with the clusters of the first ones.
TEST_F(CudaRecordingsTest, OtherKernelsAreMadeAnew) {
  auto& answers = fake_cuda::answers();
  answers.kernels = 2;
  auto layer = record();
  const auto made = [&] {
    layer = record(std::move(layer));
    return calls({"cudaGraphInstantiate"}).size();
  };
  EXPECT_EQ(made(), 1U);
  answers.kernel = 2;
  EXPECT_EQ(made(), 2U);
  EXPECT_EQ(made(), 2U);
  answers.cluster = 4;
  EXPECT_EQ(made(), 3U);
  answers.kernels = 3;
  EXPECT_EQ(made(), 4U);
  EXPECT_EQ(calls({"cudaGraphLaunch"}).size(), 6U);
  EXPECT_EQ(handles(), 1);
}

TEST_F(CudaRecordingsTest, LeaveNothingBehind) {
  auto forward = record();
  const auto backward = record();
  EXPECT_EQ(handles(), 2);
  forward.reset();
  EXPECT_EQ(handles(), 1);
  recorder_.reset();
  EXPECT_EQ(handles(), 1) << "they are their owner's";
}

// Otherwise NCCL's kernels would wait for multiprocessors until those of the computation leave some.
TEST_F(CudaRecordingsTest, KeepThePrioritiesOfTheStreamsThatTheyWereRecordedOn) {
  const auto step = record();
  const auto made = calls({"cudaGraphInstantiate"});
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].value, 8);  // cudaGraphInstantiateFlagUseNodePriority
}

TEST_F(CudaRecordingsTest, ThoseLeftOpenByAnExceptionEndWithTheirRecorder) {
  recorder_->begin();
  EXPECT_EQ(handles(), 1);
  recorder_.reset();
  EXPECT_EQ(handles(), 0);
  EXPECT_THAT(calls({"cudaGraphInstantiate"}), IsEmpty());
}

TEST_F(CudaRecordingsTest, ThoseThatCannotBeInstantiatedAreDroppedWithTheError) {
  fake_cuda::answers().graphs_instantiate = false;
  recorder_->begin();
  EXPECT_THROW(recorder_->end(nullptr), OutOfMemory);
  EXPECT_EQ(handles(), 0);
}

}  // namespace
}  // namespace perfbench::engine
