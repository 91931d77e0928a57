// The rates of operations and their limits, with numbers that can be checked by hand.
#include "harness/trace/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/trace/made_up_trace.h"

namespace perfbench::harness {
namespace {

using spec::TraceKind;
using spec::TraceOp;

// Each rate is a quotient of two exact numbers, so only the rounding of a few operations remains.
constexpr double kRounding = 1e-12;

spec::DryOperations work_of_a_step() {
  spec::DryOperations out;
  out.operations = {{.operation = TraceOp::matmul, .calls = 3, .flops = 6'000, .bytes = 300},
                    {.operation = TraceOp::adamw, .calls = 1, .flops = 0, .bytes = 500},
                    {.operation = TraceOp::rope, .calls = 1, .flops = 0, .bytes = 7}};
  return out;
}

// Two steps of 1 us: products take 300 and 500 ns, the update 100 ns in each. An evaluation follows the steps.
MadeUpTrace two_steps() {
  MadeUpTrace made;
  made.step(0, 0, 1'000)
      .host(TraceKind::op, "matmul", 0, 200)
      .host(TraceKind::op, "matmul", 300, 400)
      .host(TraceKind::op, "adamw", 800, 900)
      .step(1, 1'000, 2'000)
      .host(TraceKind::op, "matmul", 1'000, 1'500)
      .host(TraceKind::op, "adamw", 1'800, 1'900)
      .host(TraceKind::op, "matmul", 2'500, 2'900);
  return made;
}

TEST(Roofline, DividesTheWorkOfAStepByTheMeanTimeOfTracedSteps) {
  const auto rates = operation_rates(two_steps().trace(), work_of_a_step());
  ASSERT_EQ(rates.size(), 2);  // rope was not traced
  EXPECT_EQ(rates[0].name, "matmul");
  EXPECT_EQ(rates[0].calls, 3);
  EXPECT_NEAR(rates[0].time_s, 400e-9, 400e-9 * kRounding);
  EXPECT_NEAR(rates[0].step_fraction, 0.4, kRounding);
  EXPECT_NEAR(rates[0].flops_per_s(), 6'000 / 400e-9, 6'000 / 400e-9 * kRounding);
  EXPECT_NEAR(rates[0].flops_per_byte(), 20, 20 * kRounding);
  EXPECT_EQ(rates[1].name, "adamw");
  EXPECT_NEAR(rates[1].bytes_per_s(), 500 / 100e-9, 500 / 100e-9 * kRounding);
}

TEST(Roofline, KernelsOfOneOperationInTwoStreamsCountOnceWhereTheyOverlap) {
  MadeUpTrace made;
  made.step(0, 0, 1'000)
      .host(TraceKind::op, "matmul", 0, 50)
      .host(TraceKind::host_call, "cudaLaunchKernel", 10, 12, 7)
      .host(TraceKind::host_call, "cudaLaunchKernel", 20, 22, 8)
      .device(TraceKind::kernel, "gemm", 1, 100, 400, 7)
      .device(TraceKind::kernel, "gemm", 2, 300, 600, 8);
  const auto rates = operation_rates(made.trace(), work_of_a_step());
  ASSERT_EQ(rates.size(), 1);
  EXPECT_NEAR(rates[0].time_s, 500e-9, 500e-9 * kRounding);
}

TEST(Roofline, HasNoRatesWhereTimesWouldBeWrong) {
  auto dropped = two_steps();
  dropped.trace().end.dropped_records = 1;
  EXPECT_TRUE(operation_rates(dropped.trace(), work_of_a_step()).empty());
  EXPECT_TRUE(operation_rates(MadeUpTrace().trace(), work_of_a_step()).empty());
}

// The ridge is at 1e12 / 1e11 = 10 FLOP/byte.
TEST(Roofline, TheLimitIsTheBandwidthBelowTheRidgeAndThePeakAboveIt) {
  const DevicePeaks peaks{.name = "card", .flops_per_s = 1e12, .bytes_per_s = 1e11};
  EXPECT_DOUBLE_EQ(peaks.attainable_flops_per_s(2), 2e11);
  EXPECT_DOUBLE_EQ(peaks.attainable_flops_per_s(10), 1e12);
  EXPECT_DOUBLE_EQ(peaks.attainable_flops_per_s(50), 1e12);
  OperationRate below{.name = "matmul", .flops = 200, .bytes = 100, .time_s = 2e-9};
  EXPECT_NEAR(fraction_of_roof(below, peaks).value(), 0.5, kRounding);  // 1e11 of 2e11 FLOP/s
  OperationRate above{.name = "matmul", .flops = 5'000, .bytes = 100, .time_s = 2e-8};
  EXPECT_NEAR(fraction_of_roof(above, peaks).value(), 0.25, kRounding);
  OperationRate without{.name = "adamw", .flops = 0, .bytes = 100, .time_s = 4e-9};
  EXPECT_NEAR(fraction_of_roof(without, peaks).value(), 0.25, kRounding);
}

TEST(Roofline, APeakThatIsUnknownLimitsNothing) {
  OperationRate product{.name = "matmul", .flops = 5'000, .bytes = 100, .time_s = 2e-8};
  OperationRate without{.name = "adamw", .flops = 0, .bytes = 100, .time_s = 4e-9};
  const DevicePeaks no_bandwidth{.name = "cpu", .flops_per_s = 1e12};
  EXPECT_NEAR(fraction_of_roof(product, no_bandwidth).value(), 0.25, kRounding);
  EXPECT_FALSE(fraction_of_roof(without, no_bandwidth));
  const DevicePeaks no_products{.name = "tpu", .flops_per_s = 0, .bytes_per_s = 1e11};
  EXPECT_FALSE(fraction_of_roof(product, no_products));
  EXPECT_TRUE(fraction_of_roof(without, no_products));
}

}  // namespace
}  // namespace perfbench::harness
