// The order in which the parts of a backend are destroyed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <string>

#include "engine/cuda/cuda_device.h"
#include "engine/main/backend.h"
#include "engine/main/failing_rank.h"
#include "engine/main/gpu_environment.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cuda/host/recordings.h"
#include "engine/parallel/cuda/nccl_collectives.h"
#include "tests/engine/fake_cuda/fake_cuda.h"
#include "tests/engine/one_of_several_ranks.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

// Operations that record on a device; the tests do not compute with them.
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
TEST_F(BackendTest, ARecordingLeftOpenIsDestroyedBeforeItsCommunicators) {
  backend_.reset();
  const auto aborted = fake_cuda::calls({"ncclCommAbort"});
  ASSERT_EQ(aborted.size(), 1U);
  EXPECT_EQ(aborted[0].value, 0) << "graphs hold a communicator that goes";
}

using BackendDeathTest = BackendTest;

// Host memory runs out on one rank. Without the abort, its device's memory would be freed first, which waits for
// collectives that need the other ranks.
TEST_F(BackendDeathTest, AnyExceptionEndsAllRanksBeforeCommunicatorsAreDestroyed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::filesystem::path folder = testing::TempDir();
  std::filesystem::remove(folder / "result.json");
  EXPECT_EXIT(
      {
        try {
          const auto last_owner = std::move(backend_);
          ending_all_ranks({folder, 0, &processes_}, [] { throw std::bad_alloc(); });
        } catch (const std::bad_alloc&) {
          std::_Exit(1);
        }
      },
      testing::ExitedWithCode(static_cast<int>(EngineExit::out_of_memory)), "rank 0: std::bad_alloc");
  std::string written;
  std::getline(std::ifstream(folder / "result.json"), written);
  EXPECT_THAT(written, testing::HasSubstr("\"status\":\"out_of_memory\""));
}

class GpuEnvironment : public testing::Test {
 protected:
  GpuEnvironment() { forget(); }
  ~GpuEnvironment() override { forget(); }
  static void forget() {
    ::unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    ::unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  }
  static std::string value(const char* name) {
    const char* const found = std::getenv(name);
    return found == nullptr ? "" : found;
  }
  static void prepare(const spec::MeshAxes& axes, spec::Device device = spec::Device::cuda) {
    spec::RunSpec run;
    run.device = device;
    run.mesh.ici = axes;
    prepare_gpu_environment(run);
  }
};

TEST_F(GpuEnvironment, HasQueuesForAllStreamsAndAnOrderBetweenCommunicators) {
  prepare({.fsdp = 2, .tp = 2});
  EXPECT_EQ(value("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
  EXPECT_EQ(value("NCCL_LAUNCH_ORDER_IMPLICIT"), "1");
  forget();
  prepare({.fsdp = 2, .pp = 2});
  EXPECT_EQ(value("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
  EXPECT_EQ(value("NCCL_LAUNCH_ORDER_IMPLICIT"), "") << "messages pass each other";
}

TEST_F(GpuEnvironment, KeepsExistingValuesAndIsForSeveralGpus) {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "0", 1);
  prepare({.tp = 2});
  EXPECT_EQ(value("CUDA_DEVICE_MAX_CONNECTIONS"), "1");
  EXPECT_EQ(value("NCCL_LAUNCH_ORDER_IMPLICIT"), "0");
  forget();
  prepare({});
  prepare({.tp = 2}, spec::Device::cpu);
  EXPECT_EQ(value("CUDA_DEVICE_MAX_CONNECTIONS"), "");
}

TEST_F(GpuEnvironment, RefusesOneQueueForAPipeline) {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  EXPECT_THAT([] { prepare({.pp = 2}); }, testing::ThrowsMessage<EngineError>(testing::HasSubstr("is 1, and pp is 2")));
  prepare({.pp = 2}, spec::Device::cpu);
}

}  // namespace
}  // namespace perfbench::engine
