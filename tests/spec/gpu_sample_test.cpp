#include "workloads/spec/gpu_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workloads/spec/record_json.h"

namespace perfbench::spec {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<GpuSample> calm_run() {
  return {{.step = 0, .temperature_celsius = 60, .ecc_errors = 2, .processes = 1},
          {.step = 1, .temperature_celsius = 64, .throttled_by_power_cap = true, .ecc_errors = 2, .processes = 1}};
}

TEST(GpuTrouble, APowerCapAloneIsNotTrouble) {
  EXPECT_EQ(gpu_trouble(calm_run()), std::nullopt);
  EXPECT_EQ(gpu_trouble({}), std::nullopt);
}

TEST(GpuTrouble, NamesHeatWithItsCountAndTemperature) {
  auto samples = calm_run();
  samples[1].throttled_by_heat = true;
  samples[1].temperature_celsius = 88;
  EXPECT_EQ(*gpu_trouble(samples), "the GPU lowered its clocks for heat in 1 of 2 samples (up to 88 degrees Celsius)");
}

TEST(GpuTrouble, NamesEveryKind) {
  auto samples = calm_run();
  samples[0].throttled_by_hardware = true;
  samples[0].processes = 3;
  samples[1].ecc_errors = 5;
  const auto trouble = *gpu_trouble(samples);
  EXPECT_THAT(trouble, HasSubstr("the board slowed the GPU down in 1 of 2 samples"));
  EXPECT_THAT(trouble, HasSubstr("other processes computed on the GPU in 1 of 2 samples"));
  EXPECT_THAT(trouble, HasSubstr("uncorrected memory errors on the GPU during step 1"));
  EXPECT_THAT(trouble, Not(HasSubstr("heat")));
}

// Errors from before the run do not count, and two ranks' counters are not one series.
TEST(GpuTrouble, ComparesMemoryErrorsWithinARank) {
  EXPECT_EQ(gpu_trouble({{.rank = 0, .ecc_errors = 1}, {.rank = 1, .ecc_errors = 7}}), std::nullopt);
  EXPECT_EQ(gpu_trouble({{.rank = 0, .ecc_errors = -1}, {.rank = 0, .ecc_errors = 7}}), std::nullopt);
}

TEST(GpuSample, GoesThroughItsLine) {
  const GpuSample sample{.rank = 3, .step = 7, .at_ns = 12, .sm_clock_mhz = 1980, .power_w = 612.5};
  const auto back = parse_gpu_sample(to_json_line(sample));
  EXPECT_EQ(to_json_line(back), to_json_line(sample));
  EXPECT_EQ(back.sm_clock_mhz, 1980);
  EXPECT_EQ(back.power_w, 612.5);
  EXPECT_EQ(back.ecc_errors, -1);
}

}  // namespace
}  // namespace perfbench::spec
