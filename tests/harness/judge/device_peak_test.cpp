#include <gtest/gtest.h>

#include "harness/judge/cell_mfu.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

StoredAttempt attempt_on(spec::Device device, const std::string& hardware, const std::string& gpu) {
  spec::RunSpec run;
  run.device = device;
  run.hardware = hardware;
  run.precision = spec::Precision::bf16;
  StoredEnvironment environment;
  if (!gpu.empty()) environment.facts["gpu_model"] = gpu;
  StoredAttempt attempt;
  attempt.run = std::make_shared<spec::RunSpec>(run);
  attempt.environment = std::make_shared<StoredEnvironment>(environment);
  attempt.cpu_peak = std::make_shared<ClassPeak>(ClassPeak{.flops_per_s = 1e11});
  return attempt;
}

HardwareByName known() {
  spec::HardwareSpec h100;
  h100.peak_flops_per_s.bf16 = 989e12;
  return {{"h100", h100}, {"NVIDIA H100 80GB HBM3", h100}};
}

TEST(DevicePeak, TheCpuHasThePeakOfItsClass) {
  EXPECT_EQ(device_peak_flops_per_s(attempt_on(spec::Device::cpu, "host", ""), known()), 1e11);
}

TEST(DevicePeak, AGpuHasThePeakOfItsKindAndNeverTheCpus) {
  const auto peak = [](const std::string& hardware, const std::string& gpu) {
    return device_peak_flops_per_s(attempt_on(spec::Device::cuda, hardware, gpu), known());
  };
  EXPECT_EQ(peak("h100", "NVIDIA H200"), 989e12);  // the hardware that the run names counts
  EXPECT_EQ(peak("host", "NVIDIA H100 80GB HBM3"), 989e12);
  EXPECT_EQ(peak("host", "NVIDIA X"), std::nullopt);
  EXPECT_EQ(peak("host", ""), std::nullopt);
}

TEST(OtherGpu, IsAGpuThatIsNotTheNamedHardware) {
  auto hardware = known();
  hardware.at("h100").title = "NVIDIA H100 SXM5 80GB";
  hardware.at("h100").aliases = {"H100 SXM", "NVIDIA H100 80GB HBM3"};
  const auto other = [&](spec::Device device, const std::string& named, const std::string& gpu) {
    const auto attempt = attempt_on(device, named, gpu);
    return other_gpu(*attempt.run, attempt.environment->facts, hardware);
  };
  EXPECT_EQ(other(spec::Device::cuda, "h100", "NVIDIA H200"), "NVIDIA H200");
  EXPECT_EQ(other(spec::Device::cuda, "h100", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"),
            "NVIDIA H100 80GB HBM3 MIG 1g.10gb");
  EXPECT_EQ(other(spec::Device::cuda, "h100", "NVIDIA H100 80GB HBM3"), "");
  EXPECT_EQ(other(spec::Device::cuda, "h100", ""), "") << "no run has met it";
  EXPECT_EQ(other(spec::Device::cuda, "gone", "NVIDIA H200"), "") << "its file is gone";
  EXPECT_EQ(other(spec::Device::cpu, "h100", "NVIDIA H200"), "") << "it was not used";
}

}  // namespace
}  // namespace perfbench::harness
