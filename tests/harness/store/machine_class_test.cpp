#include <gtest/gtest.h>

#include "harness/evidence/environment_rows.h"

namespace perfbench::harness {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

TEST(MemoryClass, IsTheNominalSizeOfAMachine) {
  for (const auto& [gib, sold] : {std::pair{0.97, 1},
                                  {1.9, 2},
                                  {2.8, 3},
                                  {3.7, 4},
                                  {6.78, 8},
                                  {7.75, 8},
                                  {8.0, 8},
                                  {9.7, 12},
                                  {15.6, 16},
                                  {30.8, 32},
                                  {62.7, 64},
                                  {125.8, 128},
                                  {187.5, 192},
                                  {251.6, 256},
                                  {503.4, 512},
                                  {754.0, 768}}) {
    EXPECT_EQ(memory_class_bytes(static_cast<std::int64_t>(gib * static_cast<double>(kGiB))), sold * kGiB) << gib;
  }
  EXPECT_EQ(memory_class_bytes(8 * kGiB + 1), 12 * kGiB);
  EXPECT_EQ(memory_class_bytes(0), 0);
  EXPECT_EQ(memory_class_bytes(-1), 0);
  EXPECT_EQ(memory_class_bytes(1), 1);
  EXPECT_EQ(memory_class_bytes(kGiB * kGiB), kGiB * kGiB);
}

std::map<std::string, std::string> facts() {
  return {{"hostname", "a"},      {"kernel", "6.1"},       {"cpu_model", "CPU"},           {"cpu_features", "avx2"},
          {"cores_allowed", "2"}, {"governor", "unknown"}, {"memory_bytes", "8321499136"}, {"git_commit", "c"}};
}

TEST(MachineClass, DependsOnFactsThatDecideSpeed) {
  const auto usual = machine_class(facts());
  for (const auto* fact : {"cpu_model", "cpu_features", "cores_allowed", "governor", "memory_bytes", "gpu_model",
                           "gpu_memory_bytes", "gpu_driver"}) {
    auto other = facts();
    other[fact] = "17179869184";
    EXPECT_NE(machine_class(other), usual) << fact;
  }
}

TEST(MachineClass, TheDeviceIsTheGpuIfThereIsOne) {
  EXPECT_EQ(device_model({}), "");
  EXPECT_EQ(device_model(facts()), "CPU");
  auto with_gpu = facts();
  with_gpu["gpu_model"] = "NVIDIA H200";
  EXPECT_EQ(device_model(with_gpu), "NVIDIA H200");
}

TEST(MachineClass, IgnoresHostKernelBuildAndBytesOfMemory) {
  const auto usual = machine_class(facts());
  for (const auto& [fact, value] : {std::pair{"hostname", "b"},
                                    {"kernel", "6.5"},
                                    {"os", "Debian 13"},
                                    {"container", "docker"},
                                    {"cores_online", "64"},
                                    {"memory_bytes", "8321490000"},
                                    {"git_commit", "d"},
                                    {"libraries.oneDNN", "3"},
                                    {"gpus", "4"},
                                    {"transparent_huge_pages", "never"}}) {
    auto other = facts();
    other[fact] = value;
    EXPECT_EQ(machine_class(other), usual) << fact;
  }
}

}  // namespace
}  // namespace perfbench::harness
