// The order in which a backend goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "engine/cuda/cuda_device.h"
#include "engine/main/backend.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cuda/host/recordings.h"
#include "engine/parallel/cuda/nccl_collectives.h"
#include "tests/engine/fake_cuda/fake_cuda.h"
#include "tests/engine/one_of_several_ranks.h"

namespace perfbench::engine {
namespace {

// Operations that record on a device; they are not asked to compute.
class RecordingOps : public cpu::CpuOps {
 public:
  explicit RecordingOps(const CudaDevice& device) : recorder_(device.compute()) {}
  bool records() const override { return true; }
  void begin_recording() override { recorder_.begin(); }

 private:
  cuda::GraphRecorder recorder_;
};

constexpr std::array<Declared, 1> kFsdp{{{Axis::fsdp, Lane::background}}};

class BackendTest : public testing::Test {
 protected:
  BackendTest() {
    fake_cuda::begin();
    const auto device = std::make_shared<CudaDevice>(0);
    backend_.emplace();
    backend_->device = device;
    backend_->ops = std::make_unique<RecordingOps>(*device);
    backend_->collectives = make_nccl_collectives(Mesh({.ici = {.fsdp = 2}}, 0), kFsdp, *device, processes_);
    backend_->ops->begin_recording();
    backend_->collectives->all_reduce(Axis::fsdp, {values_.data(), DType::f32, Shape{4}}, Lane::background).wait();
  }

  OneOfSeveralRanks processes_{0};
  std::array<float, 4> values_{};
  std::optional<Backend> backend_;
};

// NCCL waits in ncclCommAbort until no graph holds the communicator.
TEST_F(BackendTest, ARecordingThatAnExceptionLeftOpenGoesBeforeTheCommunicatorsOfItsCollectives) {
  backend_.reset();
  const auto aborted = fake_cuda::calls({"ncclCommAbort"});
  ASSERT_EQ(aborted.size(), 1U);
  EXPECT_EQ(aborted[0].value, 0) << "graphs hold a communicator that goes";
}

}  // namespace
}  // namespace perfbench::engine
