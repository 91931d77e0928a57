#include <gtest/gtest.h>

#include <limits>

#include "reports/render/format/number.h"
#include "reports/render/format/sparkline.h"

namespace perfbench::reports {
namespace {

TEST(Format, NumbersHaveFourSignificantDigits) {
  EXPECT_EQ(format_number(0.72138), "0.7214");
  EXPECT_EQ(format_number(12.3449), "12.34");
  EXPECT_EQ(format_number(0.000123456), "0.0001235");
  EXPECT_EQ(format_number(2098.16), "2098");
  EXPECT_EQ(format_number(123456.7), "123457");
  EXPECT_EQ(format_number(-0.5), "-0.5000");
  EXPECT_EQ(format_number(0.0), "0");
  EXPECT_EQ(format_number(std::optional<double>()), "-");
  EXPECT_EQ(format_number(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Format, PercentagesHaveOneDigit) {
  EXPECT_EQ(format_percent(0.41623), "41.6 %");
  EXPECT_EQ(format_percent(0.00144), "0.14 %");
  EXPECT_EQ(format_percent(0.0000145), "0.0014 %");
  EXPECT_EQ(format_percent(0), "0.0 %");
  EXPECT_EQ(format_percent_change(1.0321), "+3.2 %");
  EXPECT_EQ(format_percent_change(0.9), "-10.0 %");
}

TEST(Format, AChangeHasTheDigitsThatItsIntervalJustifies) {
  EXPECT_EQ(decimals_of_change(0.8, 1.2), 0);        // half is 20 %: two digits
  EXPECT_EQ(decimals_of_change(0.9, 1.08), 0);       // 9 %: one digit
  EXPECT_EQ(decimals_of_change(1.047, 1.086), 1);    // 1.95 %
  EXPECT_EQ(decimals_of_change(1.012, 1.020), 1);    // 0.4 %
  EXPECT_EQ(decimals_of_change(1.012, 1.018), 2);    // 0.3 %
  EXPECT_EQ(decimals_of_change(1.0120, 1.0121), 3);  // 0.005 %
  EXPECT_EQ(decimals_of_change(1, 1), 2);
  EXPECT_EQ(decimals_of_change(0, std::numeric_limits<double>::infinity()), 1);
  EXPECT_EQ(decimals_of_change(0.2, 5), 0);
  EXPECT_EQ(format_percent_change(1.0321, 0), "+3 %");
  EXPECT_EQ(format_percent_change(1.0321, 2), "+3.21 %");
}

TEST(Format, ParametersAreWrittenAsInNamesOfModels) {
  EXPECT_EQ(format_parameters(950), "950");
  EXPECT_EQ(format_parameters(124'439'808), "124M");
  EXPECT_EQ(format_parameters(6'738'415'616), "6.7B");
  EXPECT_EQ(format_parameters(405'853'388'800), "406B");
  EXPECT_EQ(format_parameters(9'960'000'000), "10B");
}

TEST(Format, RatiosHaveNoTrailingZeros) {
  EXPECT_EQ(format_ratio(2.0), "2");
  EXPECT_EQ(format_ratio(0.5), "0.5");
  EXPECT_EQ(format_ratio(100), "100");
}

TEST(Sparkline, GoesFromTheLowestToTheHighest) {
  EXPECT_EQ(sparkline({1, 2, 3, 4, 5, 6, 7, 8}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({9, 1, 8}, 2), "▁█");  // the last two
  EXPECT_EQ(sparkline({}), "");
}

TEST(Sparkline, DoesNotEnlargeNearlyFlatSeries) {
  EXPECT_EQ(sparkline({1.0, 1.0001, 1.0}), "▄▅▄");
  EXPECT_EQ(sparkline({0, 0}), "▅▅");
}

}  // namespace
}  // namespace perfbench::reports
