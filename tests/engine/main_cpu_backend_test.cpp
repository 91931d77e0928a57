#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "engine/core/error.h"
#include "engine/data/run_data.h"
#include "engine/main/backend.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/one_of_several_ranks.h"

namespace perfbench::engine {
namespace {

TEST(CpuBackend, IsRefusedIfOneNodeOfTheMeshSpansSeveral) {
  auto run = llama_tiny();
  run.mesh.ici.fsdp = 2;
  OneOfSeveralRanks processes(0);  // the other one names another node
  EXPECT_THAT([&] { make_backend(run, &processes, testing::TempDir()); },
              testing::ThrowsMessage<EngineError>(testing::HasSubstr("rank 1 runs on another than rank 0")));
  processes.others_say_the_same = true;
  EXPECT_NO_THROW(make_backend(run, &processes, testing::TempDir()));
  run.mesh = {.dcn = {.fsdp = 2}};
  processes.others_say_the_same = false;
  EXPECT_NO_THROW(make_backend(run, &processes, testing::TempDir()));
}

// As if an engine built with one MPI were started by another's mpiexec.
TEST(CpuBackend, IsRefusedWithFewerRanksThanTheMeshHas) {
  auto run = llama_tiny();
  run.mesh.ici.fsdp = 8;
  OneOfSeveralRanks processes(0);
  EXPECT_THAT([&] { make_backend(run, &processes, testing::TempDir()); },
              testing::ThrowsMessage<LogicFault>(testing::HasSubstr("a mesh of 8 devices")));
}

TEST(Assembly, ProbesTheNoiseOfTheComputingDevice) {
  const auto run = llama_tiny();
  const auto assembled = [&run](Backend backend) {
    return std::make_unique<Assembly>(run, std::move(backend), Assembly::Options{.data = make_run_data(run)});
  };
  constexpr std::int64_t kOfADevice = 42;
  auto backend = make_backend(run, nullptr, testing::TempDir());
  backend.noise_probe = [] { return kOfADevice; };
  EXPECT_EQ(assembled(std::move(backend))->probe_noise(1), kOfADevice);
  EXPECT_GT(assembled(make_backend(run, nullptr, testing::TempDir()))->probe_noise(1), kOfADevice);
}

}  // namespace
}  // namespace perfbench::engine
