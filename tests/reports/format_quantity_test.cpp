#include <gtest/gtest.h>

#include <cmath>

#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

TEST(Quantity, BytesHaveThreeDigitsAndBinaryUnits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.00 KiB");
  EXPECT_EQ(human_bytes(1536), "1.50 KiB");
  EXPECT_EQ(human_bytes(std::int64_t{80} << 30), "80.0 GiB");
  EXPECT_EQ(human_bytes(std::int64_t{742} << 30), "742 GiB");
}

TEST(Quantity, ADurationIsInTheUnitsThatFit) {
  EXPECT_EQ(format_duration(-3), "0 s");
  EXPECT_EQ(format_duration(std::nan("")), "0 s");
  EXPECT_EQ(format_duration(1e300), "277777777777 h 46 min");
  EXPECT_EQ(format_duration(0.4), "0 s");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(185), "3 min 05 s");
  EXPECT_EQ(format_duration(7620), "2 h 07 min");
}

TEST(Quantity, RoundingNeverShowsAThousandOfAUnit) {
  EXPECT_EQ(human_count(999.4), "999");
  EXPECT_EQ(human_count(999'600), "1.00 M");
  EXPECT_EQ(human_count(9.996e3), "10.0 k");
  EXPECT_EQ(human_count(99.96e3), "100 k");
}

TEST(Quantity, CountsCarryTheirUnitAndSign) {
  EXPECT_EQ(human_count(3.02e12, "FLOP"), "3.02 TFLOP");
  EXPECT_EQ(human_count(124e6), "124 M");
  EXPECT_EQ(human_count(-2500), "-2.50 k");
  EXPECT_EQ(human_count(12, "steps"), "12 steps");
}

TEST(Quantity, ADifferenceOfTimesHasItsSign) {
  EXPECT_EQ(human_time_change(3.5e6), "+3.50 ms");
  EXPECT_EQ(human_time_change(-812), "-812 ns");
  EXPECT_EQ(human_time_change(2.5e9), "+2.50 s");
  EXPECT_EQ(human_time_change(999'600), "+1.00 ms");
  EXPECT_EQ(human_time_change(0), "+0 ns");
}

TEST(Quantity, AnAmountHasTheUnitInWhichItIsReadBest) {
  EXPECT_EQ(format_amount(0.0125, "s"), "12.50 ms");
  EXPECT_EQ(format_amount(0.72, "s"), "0.7200 s");
  EXPECT_EQ(format_amount(3.2e-7, "s"), "320 ns");
  EXPECT_EQ(format_amount(3e9, "bytes"), "2.794 GiB");
  EXPECT_EQ(format_amount(512, "bytes"), "512 B");
  EXPECT_EQ(format_amount(0.416, "fraction"), "41.6 %");
  EXPECT_EQ(format_amount(12, "count"), "12");
  EXPECT_EQ(format_amount(2.5e7, "1/s"), "25.0 M/s");
  EXPECT_EQ(format_amount(7.657, "nats"), "7.657 nats");
  EXPECT_EQ(shown_unit("s", 0).name, "s");
}

}  // namespace
}  // namespace perfbench::reports
