// Recordings as CUDA graphs: what is asked of the runtime, and that nothing of them stays behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "engine/core/error.h"
#include "engine/cuda/cuda_device.h"
#include "engine/ops/cuda/host/recordings.h"
#include "tests/engine/fake_cuda/fake_cuda.h"

namespace perfbench::engine {
namespace {

using cuda::Recordings;
using fake_cuda::calls;
using fake_cuda::names_of;
using testing::ElementsAre;
using testing::IsEmpty;

class CudaRecordingsTest : public testing::Test {
 protected:
  void SetUp() override {
    fake_cuda::begin();
    handles_before_ = fake_cuda::handles();
    recordings_.emplace(device_.compute());
  }
  void record(RecordingSlot slot) {
    recordings_->begin();
    recordings_->end(slot);
  }
  std::int64_t handles() const { return fake_cuda::handles() - handles_before_; }

  CudaDevice device_{0};
  std::int64_t handles_before_ = 0;
  std::optional<Recordings> recordings_;
};

TEST_F(CudaRecordingsTest, AreLaunchedWhenTheyEndAndAtEachReplay) {
  EXPECT_FALSE(recordings_->holds(RecordingSlot::step));
  record(RecordingSlot::step);
  EXPECT_TRUE(recordings_->holds(RecordingSlot::step));
  recordings_->replay(RecordingSlot::step);
  EXPECT_THAT(names_of(calls({"cudaGraphInstantiate", "cudaGraphLaunch"})),
              ElementsAre("cudaGraphInstantiate", "cudaGraphLaunch", "cudaGraphLaunch"));
}

TEST_F(CudaRecordingsTest, OfTheSameOperationsAreUpdatedAndOfOthersMadeAnew) {
  record(RecordingSlot::layer_forward);
  record(RecordingSlot::layer_forward);
  EXPECT_EQ(calls({"cudaGraphInstantiate"}).size(), 1U);
  fake_cuda::answers().graphs_update = false;
  record(RecordingSlot::layer_forward);
  EXPECT_THAT(names_of(calls({"cudaGraphInstantiate", "cudaGraphExecDestroy"})),
              ElementsAre("cudaGraphInstantiate", "cudaGraphExecDestroy", "cudaGraphInstantiate"));
  EXPECT_EQ(handles(), 1);
}

TEST_F(CudaRecordingsTest, LeaveNothingBehind) {
  for (const auto slot : {RecordingSlot::step, RecordingSlot::layer_backward, RecordingSlot::traced_layer_backward}) {
    record(slot);
    EXPECT_TRUE(recordings_->holds(slot));
  }
  EXPECT_FALSE(recordings_->holds(RecordingSlot::layer_forward));
  EXPECT_EQ(handles(), 3);
  recordings_.reset();
  EXPECT_EQ(handles(), 0);
}

// Or NCCL's kernels would wait for multiprocessors until those of the computation leave some.
TEST_F(CudaRecordingsTest, KeepThePrioritiesOfTheStreamsThatTheyWereRecordedOn) {
  record(RecordingSlot::step);
  const auto made = calls({"cudaGraphInstantiate"});
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].value, 8);  // cudaGraphInstantiateFlagUseNodePriority
}

TEST_F(CudaRecordingsTest, ThatAnExceptionLeavesOpenEndWithTheirOwner) {
  recordings_->begin();
  EXPECT_EQ(handles(), 1);
  recordings_.reset();
  EXPECT_EQ(handles(), 0);
  EXPECT_THAT(calls({"cudaGraphInstantiate"}), IsEmpty());
}

TEST_F(CudaRecordingsTest, ThatCannotBeMadeExecutableAreDroppedWithTheError) {
  fake_cuda::answers().graphs_instantiate = false;
  recordings_->begin();
  EXPECT_THROW(recordings_->end(RecordingSlot::step), OutOfMemory);
  EXPECT_EQ(handles(), 0);
  EXPECT_FALSE(recordings_->holds(RecordingSlot::step));
}

}  // namespace
}  // namespace perfbench::engine
