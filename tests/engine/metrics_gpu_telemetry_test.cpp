// NVML through a library with its function names, and the thread that samples it.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "engine/metrics/gpu_telemetry.h"
#include "engine/metrics/nvml.h"
#include "tests/engine/fake_nvml.h"

namespace perfbench::engine {
namespace {

using testing::HasSubstr;

class FakeDriver : public testing::Test {
 protected:
  FakeDriver() : library_(::dlopen(PERFBENCH_FAKE_NVML, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr);
    answers_ = reinterpret_cast<FakeNvmlAnswers* (*)()>(::dlsym(library_, "fake_nvml_answers"))();
    *answers_ = {};
  }
  ~FakeDriver() override { ::dlclose(library_); }

  std::unique_ptr<Nvml> open() { return Nvml::open(reason_, PERFBENCH_FAKE_NVML); }
  spec::GpuSample sample() {
    const auto nvml = open();
    return nvml->sample(nvml->find("0000:18:00.0", reason_));
  }

  void* library_;
  FakeNvmlAnswers* answers_ = nullptr;
  std::string reason_;
};

TEST_F(FakeDriver, IsOpenedAndClosed) {
  EXPECT_EQ(open()->driver_version(), "580.65.06");
  EXPECT_EQ(answers_->shutdowns, 1);
}

TEST_F(FakeDriver, SaysWhyItIsAbsent) {
  EXPECT_EQ(Nvml::open(reason_, "libno-such-nvml.so"), nullptr);
  EXPECT_THAT(reason_, HasSubstr("libno-such-nvml.so"));
  EXPECT_EQ(Nvml::open(reason_, "libc.so.6"), nullptr);
  EXPECT_THAT(reason_, HasSubstr("libc.so.6 is not the NVML"));
  answers_->init_code = 9;
  EXPECT_EQ(open(), nullptr);
  EXPECT_EQ(reason_, "nvmlInit_v2: Driver Not Loaded");
}

TEST_F(FakeDriver, FindsAGpuByItsBus) {
  const auto nvml = open();
  EXPECT_NE(nvml->find("0000:18:00.0", reason_), nullptr);
  EXPECT_EQ(nvml->find("0000:99:00.0", reason_), nullptr);
  EXPECT_EQ(reason_, "nvmlDeviceGetHandleByPciBusId_v2(0000:99:00.0): Not Found");
}

TEST_F(FakeDriver, GivesASample) {
  answers_->processes = 2;
  const auto s = sample();
  EXPECT_EQ(s.sm_clock_mhz, 1980);
  EXPECT_EQ(s.memory_clock_mhz, 2619);
  EXPECT_EQ(s.power_w, 612.5);
  EXPECT_EQ(s.temperature_celsius, 55);
  EXPECT_EQ(s.ecc_errors, 0);
  EXPECT_EQ(s.processes, 2);
  EXPECT_FALSE(s.throttled_by_heat || s.throttled_by_hardware || s.throttled_by_power_cap);
}

TEST_F(FakeDriver, DistinguishesTheReasonsOfThrottling) {
  struct Case {
    unsigned long long bits;
    bool heat, hardware, power_cap;
  };
  // Idle (1), application clocks (2) and sync boost (0x10) do not count as throttling.
  for (const Case& c : {Case{0x13, false, false, false}, Case{0x4, false, false, true}, Case{0x8, false, true, false},
                        Case{0x20, true, false, false}, Case{0x40, true, false, false}, Case{0x80, false, true, false},
                        Case{0x4c, true, true, true}}) {
    answers_->throttle_reasons = c.bits;
    const auto s = sample();
    EXPECT_EQ(s.throttled_by_heat, c.heat) << c.bits;
    EXPECT_EQ(s.throttled_by_hardware, c.hardware) << c.bits;
    EXPECT_EQ(s.throttled_by_power_cap, c.power_cap) << c.bits;
  }
}

TEST_F(FakeDriver, LeavesOutValuesThatTheGpuDoesNotReport) {
  answers_->ecc_code = 3;  // a GPU without ECC: not supported
  answers_->ecc_errors = 77;
  EXPECT_EQ(sample().ecc_errors, -1);
}

TEST(GpuTelemetry, EveryStepHasItsSamplesHoweverShort) {
  GpuTelemetry telemetry([] { return spec::GpuSample{.sm_clock_mhz = 1}; },
                         {.rank = 3, .period = std::chrono::hours(1)});
  for (const std::int64_t step : {4, 5}) {
    telemetry.begin_step(step);
    const auto samples = telemetry.end_step();
    ASSERT_EQ(samples.size(), 1U);
    EXPECT_EQ(samples[0].rank, 3);
    EXPECT_EQ(samples[0].step, step);
    EXPECT_GT(samples[0].at_ns, 0);
  }
}

TEST(GpuTelemetry, SamplesBesideAStepAndKeepsNoMoreThanItsRoom) {
  std::promise<void> fifth;
  int reads = 0;
  GpuTelemetry telemetry(
      [&] {
        if (++reads == 5) fifth.set_value();
        return spec::GpuSample{};
      },
      {.period = std::chrono::milliseconds(1), .capacity = 5});
  telemetry.begin_step(0);
  fifth.get_future().wait();
  EXPECT_EQ(telemetry.end_step().size(), 5U);
  EXPECT_EQ(reads, 5);
}

TEST(GpuTelemetry, TakesNothingBetweenSteps) {
  std::atomic<int> reads = 0;
  GpuTelemetry telemetry(
      [&] {
        ++reads;
        return spec::GpuSample{};
      },
      {.period = std::chrono::hours(1)});
  EXPECT_TRUE(telemetry.end_step().empty());  // no step is under way
  EXPECT_EQ(reads, 0);
}

}  // namespace
}  // namespace perfbench::engine
